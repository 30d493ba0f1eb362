package telemetry

import (
	"log/slog"
	"time"
)

// Unit is a CloudWatch unit.
type Unit string

const (
	Count        Unit = "Count"
	Milliseconds Unit = "Milliseconds"
)

type metric struct {
	Name string `json:"Name"`
	Unit Unit   `json:"Unit"`
}

// Metric adds a metric of the event: it appears in the line under its name and
// CloudWatch counts it. Names must not collide with other attributes.
func (e *Event) Metric(name string, unit Unit, value int) {
	e.Int(name, value)
	e.metrics = append(e.metrics, metric{name, unit})
}

// Dimension adds an attribute by which the event's metrics are counted apart.
// Only for closed sets of values: every value is a metric of its own, so a user
// or an order id must never be one.
func (e *Event) Dimension(name, value string) {
	e.attrs = append(e.attrs, slog.String(name, value))
	e.dims = append(e.dims, name)
}

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
	}{now.UnixMilli(), []directive{{Namespace, [][]string{e.dims}, e.metrics}}})
}
