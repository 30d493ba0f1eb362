package template

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"time"

	"flashsale/infra/local/eventpattern"
)

// queueNumbers are the attributes that CreateQueue accepts as written in the template,
// with their ranges.
var queueNumbers = []struct {
	name      string
	low, high int
}{
	{"MessageRetentionPeriod", 60, 1209600},
	{"VisibilityTimeout", 0, 43200},
}

func (r *reader) queues() []Queue {
	var out []Queue
	names := map[string]string{}
	placed := map[string]bool{}
	var place func(res *resource, above int)
	place = func(res *resource, above int) {
		if placed[res.id] || r.err != nil {
			return
		}
		if above > len(r.ids) {
			r.fail(res.key, res.id, "the dead-letter queues form a circle")
			return
		}
		q, deadLetters := r.queue(res)
		if deadLetters != nil {
			place(deadLetters, above+1)
		}
		if other, taken := names[q.Name]; taken {
			r.fail(res.key, res.id, "has the same name as %s", other)
		}
		names[q.Name] = res.id
		placed[res.id] = true
		out = append(out, q)
	}
	for _, res := range r.ofType(typeQueue) {
		place(res, 0)
	}
	return out
}

// queue returns a queue and, if it has one, its dead-letter queue.
func (r *reader) queue(res *resource) (Queue, *resource) {
	p := res.props
	used := []string{"QueueName", "RedrivePolicy"}
	for _, n := range queueNumbers {
		used = append(used, n.name)
	}
	// Encryption has no local counterpart, and whom a dead-letter queue admits is checked in
	// infra/proof/checks.
	p.only(used, []string{"KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "RedriveAllowPolicy", "SqsManagedSseEnabled", "Tags"})
	q := Queue{LogicalID: res.id, Name: r.queueName(res), Attributes: map[string]string{}}
	for _, n := range queueNumbers {
		if v := p.get(n.name); !v.absent() {
			q.Attributes[n.name] = strconv.Itoa(v.number(0, n.low, n.high))
		}
	}
	policy := p.get("RedrivePolicy")
	if policy.absent() {
		return q, nil
	}
	policy.only([]string{"deadLetterTargetArn", "maxReceiveCount"}, nil)
	target := policy.need("deadLetterTargetArn")
	deadLetters := r.queueOf(target)
	// A struct of a string and a number always marshals.
	text, _ := json.Marshal(struct {
		Target string `json:"deadLetterTargetArn"`
		Count  int    `json:"maxReceiveCount"`
	}{target.text(""), policy.need("maxReceiveCount").number(1, 1, 1000)})
	q.Attributes["RedrivePolicy"] = string(text)
	return q, deadLetters
}

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
		if r.streamARN(res) == arn && !res.props.get("StreamSpecification").absent() {
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
		b := Bus{LogicalID: res.id, Name: r.busName(res)}
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

func (r *reader) tables() []Table {
	all := r.ofType(typeTable)
	if r.o.TableName != "" && len(all) > 1 {
		r.fail(all[1].key, all[1].id, "one name was given for the template's table, but it has %d", len(all))
		return nil
	}
	var out []Table
	names := map[string]string{}
	for _, res := range all {
		t := r.table(res)
		if other, taken := names[t.Name]; taken {
			r.fail(res.key, res.id, "has the same name as %s", other)
		}
		names[t.Name] = res.id
		out = append(out, t)
	}
	return out
}

func (r *reader) table(res *resource) Table {
	p := res.props
	// Capacity, protection, backups and encryption have no local counterpart,
	// and a time to live never deletes here. Indexes would change answers.
	p.only(
		[]string{"TableName", "AttributeDefinitions", "KeySchema", "StreamSpecification"},
		[]string{
			"BillingMode", "ContributorInsightsSpecification", "DeletionProtectionEnabled", "OnDemandThroughput",
			"PointInTimeRecoverySpecification", "ProvisionedThroughput", "ResourcePolicy", "SSESpecification",
			"TableClass", "Tags", "TimeToLiveSpecification", "WarmThroughput",
		})
	t := Table{LogicalID: res.id, Name: r.tableName(res)}
	if p.absent() {
		r.fail(res.key, res.id, "a table needs KeySchema and AttributeDefinitions")
		return t
	}
	defined := map[string]bool{}
	for _, v := range p.need("AttributeDefinitions").list() {
		a := Attribute{Name: v.need("AttributeName").text(""), Type: v.need("AttributeType").text("")}
		if r.err == nil && !slices.Contains([]string{"S", "N", "B"}, a.Type) {
			v.get("AttributeType").fail("must be S, N or B")
		}
		defined[a.Name] = true
		t.AttributeDefinitions = append(t.AttributeDefinitions, a)
	}
	schema := p.need("KeySchema")
	for i, v := range schema.list() {
		k := Key{Name: v.need("AttributeName").text(""), Type: v.need("KeyType").text("")}
		if want := []string{"HASH", "RANGE"}; r.err == nil && (i > 1 || k.Type != want[i]) {
			v.fail("a key is a HASH element, then at most one RANGE element")
		}
		if !defined[k.Name] {
			v.fail("key attribute %q is not in AttributeDefinitions", k.Name)
		}
		t.KeySchema = append(t.KeySchema, k)
	}
	if len(t.KeySchema) == 0 {
		schema.fail("a key needs a HASH element")
	}
	if stream := p.get("StreamSpecification"); !stream.absent() {
		stream.only([]string{"StreamViewType"}, []string{"ResourcePolicy"})
		t.StreamView = stream.need("StreamViewType").text("")
		if !slices.Contains([]string{"KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"}, t.StreamView) {
			stream.get("StreamViewType").fail("is not a stream's view type")
		}
	}
	return t
}
