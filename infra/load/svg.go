package main

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// The plots' size and margins, in SVG units.
const (
	plotWidth, plotHeight                    = 860.0, 240.0
	plotLeft, plotRight, plotTop, plotBottom = 64.0, 16.0, 10.0, 28.0
)

// palette is told apart by most eyes that see few colours, too.
var palette = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#555555"}

// line is one curve: a value for every second, NaN where there is none.
type line struct {
	name   string
	values []float64
}

// plot draws lines over seconds. A logarithmic one leaves out values of 0.
type plot struct {
	unit  string
	log   bool
	lines []line
}

// svg is self-contained; every text in it is escaped.
func (p plot) svg() template.HTML {
	low, high, seconds := p.bounds()
	x := func(i int) float64 {
		return plotLeft + (plotWidth-plotLeft-plotRight)*float64(i)/float64(max(1, seconds-1))
	}
	y := func(v float64) float64 {
		share := (v - low) / (high - low)
		if p.log {
			share = (math.Log10(v) - math.Log10(low)) / (math.Log10(high) - math.Log10(low))
		}
		return plotHeight - plotBottom - share*(plotHeight-plotTop-plotBottom)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img">`, plotWidth, plotHeight)
	for _, tick := range p.ticks(low, high) {
		fmt.Fprintf(&b, `<line class="grid" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/><text class="tick" text-anchor="end" x="%g" y="%.1f">%s</text>`,
			plotLeft, plotWidth-plotRight, y(tick), y(tick), plotLeft-6, y(tick)+4, esc(number(tick)+p.unit))
	}
	every := max(1, (seconds+9)/10)
	for i := 0; i < seconds; i += every {
		fmt.Fprintf(&b, `<text class="tick" text-anchor="middle" x="%.1f" y="%g">%ds</text>`, x(i), plotHeight-8, i)
	}
	for n, l := range p.lines {
		fmt.Fprintf(&b, `<path fill="none" stroke="%s" stroke-width="1.8" d="%s"/>`, palette[n%len(palette)], p.path(l, x, y))
	}
	b.WriteString(`</svg><p class="legend">`)
	for n, l := range p.lines {
		fmt.Fprintf(&b, `<span style="color:%s">&#9632;</span> %s `, palette[n%len(palette)], esc(l.name))
	}
	b.WriteString(`</p>`)
	return template.HTML(b.String())
}

// path draws a line, interrupted where it has no value; a value alone is a dot.
func (p plot) path(l line, x func(int) float64, y func(float64) float64) string {
	var b strings.Builder
	pen := "M"
	for i, v := range l.values {
		if !p.shows(v) {
			pen = "M"
			continue
		}
		fmt.Fprintf(&b, "%s%.1f %.1f", pen, x(i), y(v))
		if pen == "M" {
			b.WriteString("h.1")
		}
		pen = "L"
	}
	return b.String()
}

func (p plot) shows(v float64) bool { return !math.IsNaN(v) && (!p.log || v > 0) }

func (p plot) bounds() (low, high float64, seconds int) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, l := range p.lines {
		seconds = max(seconds, len(l.values))
		for _, v := range l.values {
			if p.shows(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	switch {
	case math.IsInf(low, 1) && p.log:
		return 1, 10, seconds
	case math.IsInf(low, 1):
		return 0, 1, seconds
	case p.log:
		low, high = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)))
		return low, max(high, 10*low), seconds
	}
	return 0, max(high, 1), seconds
}

// ticks are the powers of ten, or about five round values.
func (p plot) ticks(low, high float64) []float64 {
	var all []float64
	if p.log {
		for v := low; v <= high*1.001; v *= 10 {
			all = append(all, v)
		}
		return all
	}
	step := math.Pow(10, math.Floor(math.Log10(high/2)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if high/(step*factor) <= 5 {
			step *= factor
			break
		}
	}
	for v := low; v <= high*1.001; v += step {
		all = append(all, v)
	}
	return all
}

func number(v float64) string { return fmt.Sprintf("%.4g", v) }

func esc(text string) string { return template.HTMLEscapeString(text) }
