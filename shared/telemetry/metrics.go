package telemetry

import (
	"slices"
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

// embedded is CloudWatch's member of the line, which describes the metrics.
type embedded struct {
	Timestamp         int64
	CloudWatchMetrics []directive
}

type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []described
}

type described struct {
	Name string
	Unit Unit
}

// embed adds the member that describes the metrics to CloudWatch, if there are any.
func (e *Event) embed(now time.Time) {
	if len(e.metrics) == 0 {
		return
	}
	common := []string{"service"}
	if e.log.stack != "" {
		e.members.text("stack", e.log.stack)
		common = []string{"stack", "service"}
	}
	aws, at := embedded{Timestamp: now.UnixMilli()}, map[string]int{}
	for _, m := range e.metrics {
		i, known := at[m.dimension]
		if !known {
			i = len(aws.CloudWatchMetrics)
			at[m.dimension] = i
			dimensions := common
			if m.dimension != "" {
				dimensions = append(slices.Clone(common), m.dimension)
			}
			d := directive{Namespace: Namespace, Dimensions: [][]string{dimensions}}
			aws.CloudWatchMetrics = append(aws.CloudWatchMetrics, d)
		}
		d := &aws.CloudWatchMetrics[i]
		d.Metrics = append(d.Metrics, described{m.name, m.unit})
	}
	e.members.json("_aws", aws)
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
