package template

import (
	"regexp"
	"time"

	"flashsale/infra/local/eventpattern"
)

// maxFilters is Lambda's limit for one event source, unless it was raised for the account.
const maxFilters = 5

func (r *reader) streamSource(event field) StreamSource {
	p := event.need("Properties")
	p.only(
		[]string{
			"Stream", "StartingPosition", "BatchSize", "MaximumBatchingWindowInSeconds", "ParallelizationFactor",
			"FunctionResponseTypes", "FilterCriteria", "Enabled", "BisectBatchOnFunctionError", "MaximumRecordAgeInSeconds", "MaximumRetryAttempts",
		},
		[]string{"MetricsConfig", "Tags"})
	source := StreamSource{
		BatchSize:               p.get("BatchSize").number(100, 1, 10000),
		Window:                  time.Duration(p.get("MaximumBatchingWindowInSeconds").number(0, 0, 300)) * time.Second,
		Parallel:                p.get("ParallelizationFactor").number(1, 1, 10),
		ReportBatchItemFailures: reportsFailures(p),
		Enabled:                 p.get("Enabled").flag(true),
	}
	if start := p.need("StartingPosition"); start.text("TRIM_HORIZON") != "TRIM_HORIZON" {
		start.fail("only TRIM_HORIZON runs locally: from the oldest record")
	}
	// A record that is given up is an event that is never told.
	for _, name := range []string{"MaximumRecordAgeInSeconds", "MaximumRetryAttempts"} {
		if v := p.get(name); v.text("-1") != "-1" {
			v.fail("only -1 runs locally: without a limit")
		}
	}
	if v := p.get("BisectBatchOnFunctionError"); v.flag(false) {
		v.fail("only false runs locally")
	}
	criteria := p.get("FilterCriteria")
	criteria.only([]string{"Filters"}, nil)
	filters := criteria.get("Filters")
	for i, f := range filters.list() {
		if i == maxFilters {
			filters.fail("has more than %d filters", maxFilters)
		}
		f.only([]string{"Pattern"}, nil)
		pattern := f.need("Pattern")
		text := pattern.text("")
		if r.err != nil {
			return source
		}
		if _, err := eventpattern.Compile(text); err != nil {
			pattern.fail("%v", err)
		}
		source.Filters = append(source.Filters, text)
	}
	stream := p.need("Stream")
	if table := r.streamOf(stream); table != nil {
		source.Table = table.id
	}
	return source
}

// streamOf returns the table whose stream v's ARN names.
func (r *reader) streamOf(v value) *resource {
	arn := v.text("")
	if r.err != nil {
		return nil
	}
	for _, res := range r.ofType(typeTable) {
		if r.streamARN(v.n, v.at, res) == arn && !res.props.get("StreamSpecification").absent() {
			return res
		}
	}
	v.fail("no table of this template has the stream %q", arn)
	return nil
}

// busName is EventBridge's rule for the names of buses of one's own.
var busName = regexp.MustCompile(`^[/._A-Za-z0-9-]{1,256}$`)

func (r *reader) buses() []Bus {
	var out []Bus
	names := map[string]string{}
	for _, res := range r.ofType(typeBus) {
		p := res.props
		p.only([]string{"Name"}, []string{"DeadLetterConfig", "Description", "KmsKeyIdentifier", "LogConfig", "Policy", "Tags"})
		if p.absent() {
			r.fail(res.key, res.id, "an event bus needs a Name")
			return nil
		}
		p.need("Name")
		b := Bus{LogicalID: res.id, Name: r.busName(res.key, res.id, res)}
		if r.err == nil && (!busName.MatchString(b.Name) || b.Name == "default") {
			p.get("Name").fail("is not a name for an event bus")
		}
		if other, taken := names[b.Name]; taken {
			r.fail(res.key, res.id, "has the same name as %s", other)
		}
		names[b.Name] = res.id
		out = append(out, b)
	}
	return out
}
