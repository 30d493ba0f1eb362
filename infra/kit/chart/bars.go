package chart

import (
	"fmt"
	"html/template"
)

// The dimensions of bars, in SVG units.
const (
	barsWidth = 860.0
	nameWidth = 190.0
	saysWidth = 170.0
	barWidth  = barsWidth - nameWidth - saysWidth
	barHeight = 12.0
	barStep   = 18.0
	axisSpace = 36.0
)

// Bar is one row: its parts side by side, with a label before and a note after it.
type Bar struct {
	Name, Says string
	Parts      []Part
}

// Part is one segment of a bar.
type Part struct {
	Value  float64
	Colour string
}

// Bars is a chart of bars drawn to one scale.
type Bars struct {
	X    string // what the axis shows, with the unit
	Bars []Bar
	Mark *Mark // a value to mark with a line; may be nil
}

// SVG draws the chart.
func (b Bars) SVG() template.HTML {
	most := 1.0
	if b.Mark != nil {
		most = max(most, b.Mark.At)
	}
	for _, one := range b.Bars {
		sum := 0.0
		for _, p := range one.Parts {
			sum += p.Value
		}
		most = max(most, sum)
	}
	x := func(v float64) float64 { return nameWidth + barWidth*v/most }
	floor := barStep*float64(len(b.Bars)) + 6
	d := begin(barsWidth, floor+axisSpace, b.X)
	for _, v := range ticks(most, 5) {
		d.line("grid", x(v), 0, x(v), floor+4)
		d.text("tick", "middle", x(v), floor+16, number(v))
	}
	d.text("axis", "end", nameWidth+barWidth, floor+axisSpace-6, b.X)
	for i, one := range b.Bars {
		y, at := 4+barStep*float64(i), 0.0
		d.text("tick", "end", nameWidth-8, y+10, one.Name)
		for _, p := range one.Parts {
			fmt.Fprintf(d, `<rect x="%.1f" y="%g" width="%.1f" height="%g" fill="%s"/>`, x(at), y, barWidth*p.Value/most, barHeight, p.Colour)
			at += p.Value
		}
		d.text("tick", "start", x(at)+6, y+10, one.Says)
	}
	if b.Mark != nil {
		d.line("mark", x(b.Mark.At), 0, x(b.Mark.At), floor)
		d.text("note", "middle", x(b.Mark.At), floor+28, b.Mark.Name)
	}
	return d.end()
}
