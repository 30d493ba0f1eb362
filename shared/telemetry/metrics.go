package telemetry

import (
	"slices"
	"strconv"
	"time"

	"flashsale/shared/jsonwrite"
	"flashsale/shared/sale"
)

// Unit is a CloudWatch unit.
type Unit string

// The units in use.
const (
	Count        Unit = "Count"
	Milliseconds Unit = "Milliseconds"
	Seconds      Unit = "Seconds"
)

// metric is a member of the line that CloudWatch extracts. Its dimensions are the stack, the service, and
// one more if that is not empty.
type metric struct {
	dimension string
	name      string
	unit      Unit
}

// Metric adds a metric to the event, with its service as dimension: a member of the
// line that CloudWatch extracts. Names must not collide with other attributes.
func (e *Event) Metric(name string, unit Unit, value int) {
	e.Int(name, value)
	e.metrics = append(e.metrics, metric{"", name, unit})
}

// CountBy counts the event once under that name, by service and by one more dimension,
// which also becomes an attribute. The dimension needs a closed set of values: every
// value is a separate metric, so it must never be a user or an order id.
func (e *Event) CountBy(name, dimension, value string) {
	e.members.Text(dimension, value)
	e.Int(name, 1)
	e.metrics = append(e.metrics, metric{dimension, name, Count})
}

// embed adds the member that describes the metrics to CloudWatch, if there are any.
func (e *Event) embed(now time.Time) {
	if len(e.metrics) == 0 {
		return
	}
	dimensions := `["service"`
	if e.log.stack != "" {
		e.members.Text("stack", e.log.stack)
		dimensions = `["stack","service"`
	}
	e.members.Name("_aws")
	b := append(e.members, `{"Timestamp":`...)
	b = append(strconv.AppendInt(b, now.UnixMilli(), 10), `,"CloudWatchMetrics":[`...)
	for i, first := range e.metrics {
		like := func(m metric) bool { return m.dimension == first.dimension }
		if slices.ContainsFunc(e.metrics[:i], like) {
			continue
		}
		b = append(append(separated(b, i), `{"Namespace":"`+Namespace+`","Dimensions":[`...), dimensions...)
		if first.dimension != "" {
			b = jsonwrite.Quote(append(b, ','), first.dimension)
		}
		b = append(b, `]],"Metrics":[`...)
		for k, m := range e.metrics[i:] {
			if !like(m) {
				continue
			}
			b = jsonwrite.Quote(append(separated(b, k), `{"Name":`...), m.name)
			b = append(jsonwrite.Quote(append(b, `,"Unit":`...), string(m.unit)), '}')
		}
		b = append(b, "]}"...)
	}
	e.members = append(b, "]}"...)
}

// separated appends a comma before every element but the first.
func separated(to []byte, element int) []byte {
	if element == 0 {
		return to
	}
	return append(to, ',')
}

// Result returns a code as spelled in the counts by result. A sale that needs a newer
// release counts as internal: alarms and roll-backs must react to it.
func Result(code sale.Code) string {
	if code == sale.NewerVersion {
		code = sale.Internal
	}
	return Outcome(code)
}

// Outcome returns a code as spelled in the line's outcome.
func Outcome(code sale.Code) string {
	if code == "" {
		return "ok"
	}
	return string(code)
}
