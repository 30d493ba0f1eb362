// Package chart draws plots as SVG with labelled axes, for self-contained HTML
// files. Every text in a drawing is escaped.
package chart

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Style is the style sheet for all drawings; it goes into the page's style element.
const Style template.CSS = `.chart { width: 100%; max-width: 900px; height: auto; display: block; font: 11px system-ui, sans-serif; fill: #555 }
.chart .grid { stroke: #ddd } .chart .mark { stroke: #222; stroke-dasharray: 4 3 } .chart .note { fill: #222 }
.legend { color: #555; margin: .1em 0; font-size: .92em }
`

// palette is safe for common colour blindness.
var palette = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#555555"}

// Mark is a value of x that gets a dashed line.
type Mark struct {
	Name string
	At   float64
}

// ticks returns round values from 0 to high, in at most most steps.
func ticks(high float64, most int) (all []float64) {
	step := math.Pow(10, math.Floor(math.Log10(high/float64(most))))
	for _, factor := range []float64{1, 2, 5, 10} {
		if high/(step*factor) <= float64(most) {
			step *= factor
			break
		}
	}
	for i := range most + 1 {
		if v := step * float64(i); v <= high*1.001 {
			all = append(all, v)
		}
	}
	return all
}

// decades returns the powers of ten from low to high.
func decades(low, high float64) (all []float64) {
	for v := low; v <= high*1.001; v *= 10 {
		all = append(all, v)
	}
	return all
}

// number formats a tick's value with commas between thousands.
func number(v float64) string {
	if v < 1000 {
		return fmt.Sprintf("%.4g", v)
	}
	return message.NewPrinter(language.English).Sprintf("%.0f", v)
}

// A plot's size and margins, in SVG units.
const (
	plotWidth, plotHeight                    = 860.0, 262.0
	plotLeft, plotRight, plotTop, plotBottom = 64.0, 16.0, 34.0, 38.0
)

// Line is one curve: a value for every whole number of x from 0 on, NaN where there is no value.
type Line struct {
	Name   string
	Values []float64
}

// Plot draws lines over an x axis that begins at 0.
type Plot struct {
	X, Y  string // what the axes show, with the unit
	Log   bool   // logarithmic y axis; values of 0 are left out
	Lines []Line
	Marks []Mark // values of x to mark
}

// SVG draws the plot, with a legend if there are several lines.
func (p Plot) SVG() template.HTML {
	low, high, end := p.bounds()
	x := func(at float64) float64 { return plotLeft + (plotWidth-plotLeft-plotRight)*at/end }
	y := func(v float64) float64 {
		share := (v - low) / (high - low)
		if p.Log {
			share = (math.Log10(v) - math.Log10(low)) / (math.Log10(high) - math.Log10(low))
		}
		return plotHeight - plotBottom - share*(plotHeight-plotTop-plotBottom)
	}
	var b strings.Builder
	text := func(class, anchor string, x, y float64, text string) {
		fmt.Fprintf(&b, `<text class="%s" text-anchor="%s" x="%.1f" y="%.1f">%s</text>`, class, anchor, x, y, template.HTMLEscapeString(text))
	}
	line := func(class string, x1, y1, x2, y2 float64) {
		fmt.Fprintf(&b, `<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x1, y1, x2, y2)
	}
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 0 %g %g" role="img" aria-label="%s">`, plotWidth, plotHeight, template.HTMLEscapeString(p.Y+" over "+p.X))
	text("axis", "start", 4, 12, p.Y)
	text("axis", "end", plotWidth-plotRight, plotHeight-6, p.X)
	rows := ticks(high, 5)
	if p.Log {
		rows = decades(low, high)
	}
	for _, v := range rows {
		line("grid", plotLeft, y(v), plotWidth-plotRight, y(v))
		text("tick", "end", plotLeft-6, y(v)+4, number(v))
	}
	for _, at := range ticks(end, 10) {
		line("grid", x(at), plotHeight-plotBottom, x(at), plotHeight-plotBottom+4)
		text("tick", "middle", x(at), plotHeight-plotBottom+16, number(at))
	}
	for n, l := range p.Lines {
		fmt.Fprintf(&b, `<path fill="none" stroke="%s" stroke-width="1.8" d="%s"/>`, palette[n%len(palette)], p.path(l, x, y))
	}
	for _, m := range p.Marks {
		anchor, gap := "start", 4.0
		if m.At > end/2 {
			anchor, gap = "end", -4
		}
		line("mark", x(m.At), plotTop, x(m.At), plotHeight-plotBottom)
		text("note", anchor, x(m.At)+gap, plotTop-4, m.Name)
	}
	b.WriteString(`</svg>`)
	if len(p.Lines) > 1 {
		b.WriteString(`<p class="legend">`)
		for n, l := range p.Lines {
			fmt.Fprintf(&b, `<span style="color:%s">&#9632;</span> %s `, palette[n%len(palette)], template.HTMLEscapeString(l.Name))
		}
		b.WriteString(`</p>`)
	}
	return template.HTML(b.String())
}

// path draws a line, interrupted where it has no value; an isolated value becomes a dot.
func (p Plot) path(l Line, x, y func(float64) float64) string {
	var b strings.Builder
	pen := "M"
	for i, v := range l.Values {
		if !p.shows(v) {
			pen = "M"
			continue
		}
		fmt.Fprintf(&b, "%s%.1f %.1f", pen, x(float64(i)), y(v))
		if pen == "M" {
			b.WriteString("h.1")
		}
		pen = "L"
	}
	return b.String()
}

func (p Plot) shows(v float64) bool { return !math.IsNaN(v) && (!p.Log || v > 0) }

// bounds returns the range of y and the end of x.
func (p Plot) bounds() (low, high, end float64) {
	low, high, end = math.Inf(1), math.Inf(-1), 1
	for _, l := range p.Lines {
		end = max(end, float64(len(l.Values)-1))
		for _, v := range l.Values {
			if p.shows(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	for _, m := range p.Marks {
		end = max(end, m.At)
	}
	switch {
	case math.IsInf(low, 1) && p.Log:
		return 1, 10, end
	case math.IsInf(low, 1):
		return 0, 1, end
	case p.Log:
		low, high = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)))
		return low, max(high, 10*low), end
	}
	return 0, max(high, 1), end
}
