package telemetry

import (
	"slices"
	"strconv"
	"strings"
	"time"

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
	e.members.text(dimension, value)
	e.Int(name, 1)
	e.metrics = append(e.metrics, metric{dimension, name, Count})
}

// embed adds the member that describes the metrics to CloudWatch, if there are any: a directive for each dimension.
func (e *Event) embed(now time.Time) {
	if len(e.metrics) == 0 {
		return
	}
	common := `"service"`
	if e.log.stack != "" {
		e.members.text("stack", e.log.stack)
		common = `"stack","service"`
	}
	slices.SortStableFunc(e.metrics, func(a, b metric) int { return strings.Compare(a.dimension, b.dimension) })
	m := &e.members
	m.raw(`,"_aws":{"Timestamp":`, strconv.FormatInt(now.UnixMilli(), 10), `,"CloudWatchMetrics":[`)
	for i, one := range e.metrics {
		if i > 0 && one.dimension == e.metrics[i-1].dimension {
			m.raw(`,`)
		} else {
			if i > 0 {
				m.raw(`]},`)
			}
			m.raw(`{"Namespace":"`, Namespace, `","Dimensions":[[`, common)
			if one.dimension != "" {
				m.raw(`,"`, one.dimension, `"`)
			}
			m.raw(`]],"Metrics":[`)
		}
		m.raw(`{"Name":"`, one.name, `","Unit":"`, string(one.unit), `"}`)
	}
	m.raw(`]}]}`)
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
