package chart

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// A plot's size and margins, in SVG units.
const (
	plotWidth, plotHeight                    = 860.0, 262.0
	plotLeft, plotRight, plotTop, plotBottom = 64.0, 16.0, 34.0, 38.0
)

// Line is one curve: a value for every step of x, NaN where there is no value.
type Line struct {
	Name   string
	Values []float64
}

// Plot draws lines over an x axis that begins at 0.
type Plot struct {
	X, Y  string  // what the axes show, with the unit
	Step  float64 // of x between two values, above 0
	Log   bool    // logarithmic y axis; values of 0 are left out
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
	d := begin(plotWidth, plotHeight, p.Y+" over "+p.X)
	d.text("axis", "start", 4, 12, p.Y)
	d.text("axis", "end", plotWidth-plotRight, plotHeight-6, p.X)
	rows := ticks(high, 5)
	if p.Log {
		rows = decades(low, high)
	}
	for _, v := range rows {
		d.line("grid", plotLeft, y(v), plotWidth-plotRight, y(v))
		d.text("tick", "end", plotLeft-6, y(v)+4, number(v))
	}
	for _, at := range ticks(end, 10) {
		d.line("grid", x(at), plotHeight-plotBottom, x(at), plotHeight-plotBottom+4)
		d.text("tick", "middle", x(at), plotHeight-plotBottom+16, number(at))
	}
	for n, l := range p.Lines {
		fmt.Fprintf(d, `<path fill="none" stroke="%s" stroke-width="1.8" d="%s"/>`, Palette[n%len(Palette)], p.path(l, x, y))
	}
	for _, m := range p.Marks {
		anchor, gap := "start", 4.0
		if m.At > end/2 {
			anchor, gap = "end", -4
		}
		d.line("mark", x(m.At), plotTop, x(m.At), plotHeight-plotBottom)
		d.text("note", anchor, x(m.At)+gap, plotTop-4, m.Name)
	}
	return d.end() + p.legend()
}

func (p Plot) legend() template.HTML {
	if len(p.Lines) < 2 {
		return ""
	}
	var b strings.Builder
	b.WriteString(`<p class="legend">`)
	for n, l := range p.Lines {
		fmt.Fprintf(&b, `<span style="color:%s">&#9632;</span> %s `, Palette[n%len(Palette)], template.HTMLEscapeString(l.Name))
	}
	b.WriteString(`</p>`)
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
		fmt.Fprintf(&b, "%s%.1f %.1f", pen, x(p.Step*float64(i)), y(v))
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
	low, high, end = math.Inf(1), math.Inf(-1), p.Step
	note := func(v float64) {
		if p.shows(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	for _, l := range p.Lines {
		end = max(end, p.Step*float64(len(l.Values)-1))
		for _, v := range l.Values {
			note(v)
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
