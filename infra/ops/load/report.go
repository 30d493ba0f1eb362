package load

import (
	"cmp"
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
	"style":   func() template.CSS { return chart.Style },
}).Parse(page))

// report is what a run reports, on a terminal and as a page.
type report struct {
	Title     string
	Settings  [][2]string
	Took      time.Duration
	Latencies []latencyRow
	// Outcomes counts all purchase requests, and Kinds the first answers by kind of buyer.
	Outcomes, Polls []counted
	Kinds           []kindRow
	seconds         []second
	// PeakAccepted is the maximum number of purchases accepted in one second.
	Accepted, PeakAccepted, Confirmed, GivenUp, Unconfirmed int64
	Findings                                                []string
	Receipt                                                 string
	ReceiptMade, Broken                                     bool
}

// print writes the short form for a terminal.
func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "\n%-27s %9s %9s %9s %9s %9s %9s\n", "from the intended time", "count", "p50", "p90", "p99", "p99.9", "max")
	for _, l := range r.Latencies {
		fmt.Fprintf(w, "%-27s %9d %9s %9s %9s %9s %9s\n", l.Name, l.Count, ms(l.P50), ms(l.P90), ms(l.P99), ms(l.P999), ms(l.Max))
	}
	fmt.Fprintf(w, "\naccepted %d (most in a second: %d), order ids seen %d, gave up %d, no order id in time %d, took %v\n",
		r.Accepted, r.PeakAccepted, r.Confirmed, r.GivenUp, r.Unconfirmed, r.Took)
	for _, c := range r.Outcomes {
		fmt.Fprintf(w, "  %-20s %9d  %5.1f %%\n", c.Outcome, c.Count, c.Percent)
	}
	fmt.Fprintf(w, "\n%s\n", cmp.Or(r.Receipt, "no receipt"))
	if len(r.Findings) == 0 {
		fmt.Fprintln(w, "no broken promise was seen")
		return
	}
	fmt.Fprintln(w, "BROKEN:")
	for _, f := range r.Findings {
		fmt.Fprintln(w, "  -", f)
	}
}

// ms formats a duration for a column.
func ms(d time.Duration) string {
	v := float64(d) / float64(time.Millisecond)
	if v < 10 {
		return fmt.Sprintf("%.2fms", v)
	}
	return fmt.Sprintf("%.0fms", v)
}

// write writes a self-contained HTML file.
func (r *report) write(path string) error {
	f, err := os.Create(path)
	if err == nil {
		err = cmp.Or(pageTemplate.Execute(f, r), f.Close())
	}
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// drawn is a plot with its heading.
type drawn struct {
	Title, Says string
	SVG         template.HTML
}

// Charts are the report's plots.
func (r *report) Charts() []drawn {
	quantiles := func(of func(second) latencies, at ...float64) []chart.Line {
		var lines []chart.Line
		for _, q := range at {
			lines = append(lines, r.line(fmt.Sprintf("p%g", q), func(s second) float64 {
				if of(s).TotalCount() == 0 {
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
		return chart.Plot{X: "seconds since the opening", Y: y, Log: log, Lines: lines, Marks: marks}.SVG()
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
func (r *report) line(name string, value func(second) float64) chart.Line {
	l := chart.Line{Name: name, Values: make([]float64, len(r.seconds))}
	for i, s := range r.seconds {
		l.Values[i] = value(s)
	}
	return l
}
