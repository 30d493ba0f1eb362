package chart

import (
	"math"
	"strings"
	"testing"
)

func TestAPlotIsDrawnForEveryShapeOfData(t *testing.T) {
	nan := math.NaN()
	for name, p := range map[string]Plot{
		"nothing":             {},
		"no line has a value": {Log: true, Lines: []Line{{"a", []float64{nan, nan}}}},
		"one value":           {Lines: []Line{{"a", []float64{5}}}},
		"zeros":               {Lines: []Line{{"a", []float64{0, 0}}}},
		"zeros, logarithmic":  {Log: true, Lines: []Line{{"a", []float64{0, 0}}}},
		"a gap":               {Log: true, Lines: []Line{{"a", []float64{1, nan, 1000}}}},
		"large":               {Lines: []Line{{"a", []float64{1e9, 3}}, {"b", []float64{0.001}}}},
		"marks beyond":        {Lines: []Line{{"a", []float64{1, 2}}}, Marks: []Mark{{"m", 70}}},
	} {
		t.Run(name, func(t *testing.T) {
			text := string(p.SVG())
			if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
				t.Errorf("a coordinate is not a number: %s", text)
			}
			if strings.Count(text, "<line") > 30 {
				t.Error("there are too many grid lines to read")
			}
		})
	}
}

func TestTicksAreRoundAndFew(t *testing.T) {
	for high, want := range map[float64]string{
		1: "0 0.2 0.4 0.6 0.8 1", 7: "0 2 4 6", 10: "0 2 4 6 8 10", 11: "0 5 10", 999: "0 200 400 600 800", 60: "0 20 40 60", 5000: "0 1,000 2,000 3,000 4,000 5,000",
	} {
		var got []string
		for _, v := range ticks(high, 5) {
			got = append(got, number(v))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("up to %g: %v, want %s", high, got, want)
		}
	}
}
