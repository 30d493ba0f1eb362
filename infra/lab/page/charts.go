package page

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"flashsale/infra/lab/trial"
)

// The charts' measures, in SVG units.
const (
	chartWidth = 860.0
	nameWidth  = 190.0
	saysWidth  = 170.0
	barWidth   = chartWidth - nameWidth - saysWidth
	barHeight  = 12.0
	barStep    = 18.0
)

// cut is how much oversold is drawn, in percent of the stock: a few units that
// are sold ten times would make all other bars too short to read.
const cut = 200.0

// The colours are told apart by most eyes that see few, too.
const (
	soldColour = "#009e73"
	overColour = "#c00000"
	plain      = "#0072b2"
)

// chart is a picture with its heading.
type chart struct {
	Title, Says string
	SVG         template.HTML
}

// bar is a strategy's: parts in one line, each with its colour.
type bar struct {
	name, says string
	parts      []part
}

type part struct {
	value  float64
	colour string
}

func (r *Report) charts() []chart {
	var all []chart
	var sold []bar
	for _, l := range r.lines() {
		if worst, ok := farthest(run(l.Rows)); ok {
			share := 100 / float64(worst.Stock)
			sold = append(sold, bar{
				l.Spec.Name, fmt.Sprintf("%d of %d, %s", worst.Sold, worst.Stock, worst.Scenario),
				[]part{
					{share * float64(worst.Sold-worst.Oversold), soldColour},
					{min(share*float64(worst.Oversold), cut), overColour},
				},
			})
		}
	}
	if len(sold) > 0 {
		all = append(all, chart{
			"Sold and oversold", "orders in the store as a share of the stock, in the strategy's run that was farthest from right; red is more than there was, cut off at twice the stock; the line is the stock",
			draw(sold, 100),
		})
	}
	for _, sc := range r.Scenarios {
		if !slices.Contains([]string{"calm", "slow-check"}, sc.Name) && sc.Name != r.Scenarios[0].Name {
			continue
		}
		speed := r.bars(sc.Name, "%.0f/s", func(r trial.Row) float64 { return r.PerSecond })
		slow := r.bars(sc.Name, "%.0f ms", func(r trial.Row) float64 { return r.P99Ms })
		if len(speed) == 0 {
			continue
		}
		all = append(all,
			chart{"Throughput: " + sc.Name, "decisions a second, from the opening to the last one; " + sc.Does, draw(speed, 0)},
			chart{"p99: " + sc.Name, "milliseconds from a buyer's first click to the decision, the slowest one in a hundred", draw(slow, 0)})
	}
	return all
}

// bars are the strategies' means over the seeds.
func (r *Report) bars(scenario, format string, of func(trial.Row) float64) []bar {
	var all []bar
	for _, l := range r.lines() {
		sum, n := 0.0, 0
		for _, row := range run(l.Rows) {
			if row.Scenario == scenario {
				sum, n = sum+of(row), n+1
			}
		}
		if n > 0 {
			mean := sum / float64(n)
			all = append(all, bar{l.Spec.Name, fmt.Sprintf(format, mean), []part{{mean, plain}}})
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
	off := func(r trial.Row) (float64, float64) {
		return float64(r.Oversold) / float64(r.Stock), float64(r.Unsold) / float64(r.Stock)
	}
	return slices.MaxFunc(rows, func(a, b trial.Row) int {
		aOver, aUnder := off(a)
		bOver, bUnder := off(b)
		switch {
		case aOver != bOver:
			return sign(aOver - bOver)
		case aOver == 0:
			return sign(aUnder - bUnder)
		}
		return 0
	}), true
}

func sign(v float64) int {
	switch {
	case v < 0:
		return -1
	case v > 0:
		return 1
	}
	return 0
}

// draw is self-contained; every text in it is escaped. A mark above 0 is a
// vertical line.
func draw(bars []bar, mark float64) template.HTML {
	most := max(mark, 1)
	for _, b := range bars {
		sum := 0.0
		for _, p := range b.parts {
			sum += p.value
		}
		most = max(most, sum)
	}
	height := barStep*float64(len(bars)) + 6
	var out strings.Builder
	fmt.Fprintf(&out, `<svg viewBox="0 0 %g %g" role="img">`, chartWidth, height)
	for i, b := range bars {
		y, x := 4+barStep*float64(i), nameWidth
		fmt.Fprintf(&out, `<text class="tick" text-anchor="end" x="%g" y="%g">%s</text>`, nameWidth-8, y+10, template.HTMLEscapeString(b.name))
		for _, p := range b.parts {
			width := barWidth * p.value / most
			fmt.Fprintf(&out, `<rect x="%.1f" y="%g" width="%.1f" height="%g" fill="%s"/>`, x, y, width, barHeight, p.colour)
			x += width
		}
		fmt.Fprintf(&out, `<text class="tick" x="%.1f" y="%g">%s</text>`, x+6, y+10, template.HTMLEscapeString(b.says))
	}
	if mark > 0 {
		x := nameWidth + barWidth*mark/most
		fmt.Fprintf(&out, `<line class="mark" x1="%.1f" x2="%.1f" y1="0" y2="%g"/>`, x, x, height)
	}
	out.WriteString(`</svg>`)
	return template.HTML(out.String())
}
