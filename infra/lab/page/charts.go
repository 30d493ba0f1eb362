package page

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"

	"flashsale/infra/kit/chart"
	"flashsale/infra/lab/scenario"
	"flashsale/infra/lab/trial"
)

// cut is how much oversold is drawn, in percent of the stock: a few units that
// are sold ten times would make all other bars too short to read.
const cut = 200.0

// The colours are safe for common colour blindness.
const (
	soldColour = "#009e73"
	overColour = "#c00000"
	plain      = "#0072b2"
)

// drawn is a picture with its heading.
type drawn struct {
	Title, Says string
	SVG         template.HTML
}

func (r *Report) charts() []drawn {
	var all []drawn
	var sold []chart.Bar
	for _, l := range r.lines() {
		if worst, ok := farthest(run(l.Rows)); ok {
			share := 100 / float64(worst.Stock)
			sold = append(sold, chart.Bar{
				Name: l.Spec.Name, Says: fmt.Sprintf("%d of %d, %s", worst.Sold, worst.Stock, worst.Scenario),
				Parts: []chart.Part{
					{Value: share * float64(worst.Sold-worst.Oversold), Colour: soldColour},
					{Value: min(share*float64(worst.Oversold), cut), Colour: overColour},
				},
			})
		}
	}
	if len(sold) > 0 {
		all = append(all, drawn{
			"Sold and oversold", "orders in the store as a share of the stock, in the strategy's run that was farthest from right; red is more than there was, cut off at twice the stock",
			chart.Bars{X: "percent of the stock", Bars: sold, Mark: &chart.Mark{Name: "the stock", At: 100}}.SVG(),
		})
	}
	for _, sc := range r.Scenarios {
		if sc.Peak > 0 {
			all = append(all, r.peak(sc)...)
			continue
		}
		if !slices.Contains([]string{"calm", "slow-check"}, sc.Name) && sc.Name != r.Scenarios[0].Name {
			continue
		}
		speed := r.bars(sc.Name, "%.0f/s", func(r trial.Row) float64 { return r.PerSecond })
		slow := r.bars(sc.Name, "%.0f ms", func(r trial.Row) float64 { return r.P99Ms })
		if len(speed) == 0 {
			continue
		}
		all = append(all,
			drawn{"Throughput: " + sc.Name, "decisions a second, from the opening to the last one; " + sc.Does, chart.Bars{X: "decisions a second", Bars: speed}.SVG()},
			drawn{"p99: " + sc.Name, "from a buyer's first click to the decision, the slowest one in a hundred", chart.Bars{X: "milliseconds", Bars: slow}.SVG()})
	}
	return all
}

// peak are accepted and durable orders beside each other.
func (r *Report) peak(sc scenario.Scenario) []drawn {
	accepted := r.bars(sc.Name, "%.0f/s", func(r trial.Row) float64 { return r.PerSecond })
	durable := r.bars(sc.Name, "%.0f/s", func(r trial.Row) float64 { return r.DurablePerSecond })
	slow := r.bars(sc.Name, "%.1f ms", func(r trial.Row) float64 { return r.P99Ms })
	if len(accepted) == 0 {
		return nil
	}
	return []drawn{
		{"Accepted at the peak", "buyers told yes a second; " + sc.Does, chart.Bars{X: "accepted a second", Bars: accepted}.SVG()},
		{"Durable at the peak", "orders a second until the last of them was written where the strategy keeps its orders", chart.Bars{X: "orders a second", Bars: durable}.SVG()},
		{"p99 at the peak", "from the request to the yes, the slowest one in a hundred", chart.Bars{X: "milliseconds", Bars: slow}.SVG()},
	}
}

// bars are the strategies' means over the seeds.
func (r *Report) bars(scenario, format string, of func(trial.Row) float64) []chart.Bar {
	var all []chart.Bar
	for _, l := range r.lines() {
		sum, n := 0.0, 0
		for _, row := range run(l.Rows) {
			if row.Scenario == scenario {
				sum, n = sum+of(row), n+1
			}
		}
		if n > 0 {
			mean := sum / float64(n)
			all = append(all, chart.Bar{Name: l.Spec.Name, Says: fmt.Sprintf(format, mean), Parts: []chart.Part{{Value: mean, Colour: plain}}})
		}
	}
	return all
}

// farthest is the row with the most units oversold, or else unsold, for its
// stock.
func farthest(rows []trial.Row) (trial.Row, bool) {
	if len(rows) == 0 {
		return trial.Row{}, false
	}
	over := func(r trial.Row) float64 { return float64(r.Oversold) / float64(r.Stock) }
	under := func(r trial.Row) float64 { return float64(r.Unsold) / float64(r.Stock) }
	return slices.MaxFunc(rows, func(a, b trial.Row) int {
		return cmp.Or(cmp.Compare(over(a), over(b)), cmp.Compare(under(a), under(b)))
	}), true
}
