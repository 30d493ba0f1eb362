package telemetry

import (
	"log/slog"
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

// serviceOnly is how every metric is filed: apart by function.
var serviceOnly = []string{"service"}

type metric struct {
	Name string `json:"Name"`
	Unit Unit   `json:"Unit"`
}

// Metric adds a metric of the event, filed under its service: it appears in the
// line under its name and CloudWatch counts it. Names must not collide with other
// attributes.
func (e *Event) Metric(name string, unit Unit, value int) {
	e.Int(name, value)
	for i := range e.directives {
		if len(e.directives[i].Dimensions[0]) == len(serviceOnly) {
			e.directives[i].Metrics = append(e.directives[i].Metrics, metric{name, unit})
			return
		}
	}
	e.file(serviceOnly, metric{name, unit})
}

// CountBy counts the event itself once, under that name and apart by its service
// and by the value of one more dimension, which becomes an attribute, too. Only
// for closed sets of values: every value is a metric of its own, so a user or an
// order id must never be one.
func (e *Event) CountBy(name, dimension, value string) {
	e.attrs = append(e.attrs, slog.String(dimension, value), slog.Int(name, 1))
	e.file([]string{serviceOnly[0], dimension}, metric{name, Count})
}

// Outcome is a code as the line's outcome and the counts by result spell it.
func Outcome(code sale.Code) string {
	if code == "" {
		return "ok"
	}
	return string(code)
}

func (e *Event) file(dimensions []string, m metric) {
	e.directives = append(e.directives, directive{Namespace, [][]string{dimensions}, []metric{m}})
}

// directive tells CloudWatch which members of the line are metrics, and which
// are their dimensions.
type directive struct {
	Namespace  string     `json:"Namespace"`
	Dimensions [][]string `json:"Dimensions"`
	Metrics    []metric   `json:"Metrics"`
}

// embedded is the attribute by which CloudWatch finds the metrics in the line.
func (e *Event) embedded(now time.Time) slog.Attr {
	return slog.Any("_aws", struct {
		Timestamp         int64       `json:"Timestamp"`
		CloudWatchMetrics []directive `json:"CloudWatchMetrics"`
	}{now.UnixMilli(), e.directives})
}
