package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"time"

	"flashsale/infra/kit/chart"
	"flashsale/infra/kit/client"
)

//go:embed report.html
var page string

// The template escapes everything except the drawings of package chart.
var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"ms":      ms,
	"percent": func(v float64) string { return fmt.Sprintf("%.1f %%", v) },
}).Parse(page))

// drawn is a plot with its heading.
type drawn struct {
	Title, Says string
	SVG         template.HTML
}

// writeReport writes a self-contained HTML file.
func writeReport(path string, r result) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := r.html(f); err != nil {
		_ = f.Close()
		return fmt.Errorf("write report: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func (r *result) html(w io.Writer) error {
	return pageTemplate.Execute(w, map[string]any{
		"Title": r.title, "Settings": r.settings, "Took": r.took.Round(100 * time.Millisecond).String(),
		"Latencies": r.latencies, "Outcomes": r.outcomes, "Polls": r.polls, "Orders": r.orders, "Kinds": r.byKind,
		"Accepted": r.accepted, "PeakAccepted": r.peakAccepted, "Confirmed": r.confirmed,
		"GivenUp": r.givenUp, "Unconfirmed": r.unconfirmed,
		"Findings": r.findings[:min(len(r.findings), mostFindings)], "MoreFindings": max(0, len(r.findings)-mostFindings), "Receipt": r.receipt, "ReceiptMade": r.receiptMade, "Broken": r.broken,
		"Charts": r.charts(), "ChartStyle": chart.Style,
	})
}

func (r *result) charts() []drawn {
	quantiles := func(of func(second) latencies, at ...float64) []chart.Line {
		var lines []chart.Line
		for _, q := range at {
			lines = append(lines, r.line(fmt.Sprintf("p%g", q), func(s second) float64 {
				if of(s).count() == 0 {
					return math.NaN()
				}
				return float64(of(s).at(q)) / float64(time.Millisecond)
			}))
		}
		return lines
	}
	count := func(o client.Outcome) chart.Line {
		return r.line(string(o), func(s second) float64 { return float64(s.counts[o]) })
	}
	names := map[client.Outcome]bool{}
	for _, s := range r.seconds {
		for o := range s.counts {
			names[o] = true
		}
	}
	delete(names, client.Confirmed)
	var answers []chart.Line
	for _, o := range slices.Sorted(maps.Keys(names)) {
		answers = append(answers, count(o))
	}
	var marks []chart.Mark
	if i := slices.IndexFunc(r.seconds, func(s second) bool { return s.counts["sold-out"] > 0 }); i >= 0 {
		marks = []chart.Mark{{Name: "first \"sold out\" answer", At: float64(i)}}
	}
	plot := func(y string, log bool, lines []chart.Line) template.HTML {
		return chart.Plot{X: "seconds since the opening", Y: y, Step: 1, Log: log, Lines: lines, Marks: marks}.SVG()
	}
	return []drawn{
		{"Latency", "from a click's intended time to its first answer, by intended second",
			plot("milliseconds", true, quantiles(func(s second) latencies { return s.click }, 50, 90, 99, 100))},
		{"Orders", "purchases accepted and order ids seen, each second", plot("orders a second", false, []chart.Line{count(client.Accepted), count(client.Confirmed)})},
		{"Answers", "every answer to a purchase, each second", plot("answers a second", false, answers)},
		{"Queueing", "how late the generator sent its requests; if this is high, the latencies above are too high",
			plot("milliseconds", true, quantiles(func(s second) latencies { return s.queue }, 50, 99, 100))},
	}
}

// line makes a line with a value for every second.
func (r *result) line(name string, value func(second) float64) chart.Line {
	l := chart.Line{Name: name, Values: make([]float64, len(r.seconds))}
	for i, s := range r.seconds {
		l.Values[i] = value(s)
	}
	return l
}
