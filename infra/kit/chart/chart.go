// Package chart draws plots as SVG with labelled axes, for self-contained HTML
// files. Every text in a drawing is escaped.
package chart

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// Style is the style sheet for all drawings; it goes into the page's style element.
const Style template.CSS = `.chart { width: 100%; max-width: 900px; height: auto; display: block; font: 11px system-ui, sans-serif; fill: #555 }
.chart .grid { stroke: #ddd } .chart .mark { stroke: #222; stroke-dasharray: 4 3 } .chart .note { fill: #222 }
.legend { color: #555; margin: .1em 0; font-size: .92em }
`

// Palette is safe for common colour blindness.
var Palette = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#555555"}

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
	if v >= 1e9 {
		return fmt.Sprintf("%.3g", v)
	}
	text := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// drawing is an SVG under construction.
type drawing struct{ strings.Builder }

func begin(width, height float64, label string) *drawing {
	d := &drawing{}
	fmt.Fprintf(d, `<svg class="chart" viewBox="0 0 %g %g" role="img" aria-label="%s">`, width, height, template.HTMLEscapeString(label))
	return d
}

func (d *drawing) text(class, anchor string, x, y float64, text string) {
	fmt.Fprintf(d, `<text class="%s" text-anchor="%s" x="%.1f" y="%.1f">%s</text>`, class, anchor, x, y, template.HTMLEscapeString(text))
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(d, `<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x1, y1, x2, y2)
}

func (d *drawing) end() template.HTML {
	d.WriteString(`</svg>`)
	return template.HTML(d.String())
}
