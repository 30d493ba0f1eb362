package main

import (
	"fmt"
	"html/template"
	"math"
	"os"
	"path/filepath"
	"strings"

	"flashsale/infra/model"
)

// curve is one plot of the chart.
type curve struct {
	Name, Colour string
	Max          string
	Limit        float64 // height of the dashed line, 0 for none
	Points       string  // of an SVG polyline
}

// The size of a plot, in the units of the drawing.
const width, height = 860.0, 180.0

// Y is where the dashed line lies.
func (c curve) Y() float64 { return height - c.Limit }

func draw(name, colour string, values []float64, limit float64) curve {
	top := max(limit, 1)
	for _, v := range values {
		top = max(top, v)
	}
	var points strings.Builder
	for i, v := range values {
		x := width * float64(i) / math.Max(1, float64(len(values)-1))
		fmt.Fprintf(&points, "%.1f,%.1f ", x, height-v/top*height)
	}
	return curve{Name: name, Colour: colour, Max: grouped(top), Limit: limit / top * height, Points: points.String()}
}

// curves are stock, acceptances and conflicts until shortly after the end.
func curves(a advice, r *model.Result) (all []curve, seconds float64) {
	end := len(r.Bins)
	if r.Left == 0 {
		end = min(end, int(1.3*float64(r.LastSold)/float64(model.BinWidth))+10)
	}
	left := float64(r.Config.Stock)
	var stock, accepted, conflicts, refused []float64
	for _, b := range r.Bins[:end] {
		left -= float64(b.Accepted)
		stock = append(stock, left)
		accepted = append(accepted, float64(b.Accepted)/model.BinWidth.Seconds())
		conflicts = append(conflicts, float64(b.Conflicts)/model.BinWidth.Seconds())
		refused = append(refused, b.Refused/model.BinWidth.Seconds())
	}
	return []curve{
		draw("units left", "#33691e", stock, 0),
		draw("accepted a second (dashed: the advised rate)", "#0d47a1", accepted, a.rates.bound()),
		draw("conflicts a second", "#b71c1c", conflicts, 0),
		draw("\"sold out\" answers a second", "#616161", refused, 0),
	}, float64(end) * model.BinWidth.Seconds()
}

var page = template.Must(template.New("chart").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>flashsale plan</title>
<style>body{font:14px sans-serif;margin:24px;max-width:920px}svg{background:#fafafa;border:1px solid #ddd}h2{font-size:14px;margin:18px 0 4px}</style>
<h1>Plan: {{.Title}}</h1>
{{range .Curves}}<h2>{{.Name}} (top: {{.Max}})</h2>
<svg viewBox="0 0 860 180" width="860" height="180" role="img" aria-label="{{.Name}}">
{{if .Limit}}<line x1="0" x2="860" y1="{{.Y}}" y2="{{.Y}}" stroke="#999" stroke-dasharray="6 4"/>{{end}}
<polyline fill="none" stroke="{{.Colour}}" stroke-width="2" points="{{.Points}}"/></svg>
{{end}}<p>0 to {{printf "%.1f" .Seconds}} simulated seconds after the opening.</p></html>
`))

func writeChart(path string, w wish, a advice, r *model.Result) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write chart: %w", err)
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write chart: %w", err)
	}
	all, seconds := curves(a, r)
	title := fmt.Sprintf("%s users, %s units, %d shards", grouped(float64(w.users)), grouped(float64(w.stock)), a.shards)
	err = page.Execute(f, struct {
		Title   string
		Curves  []curve
		Seconds float64
	}{title, all, seconds})
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("write chart: %w", err)
	}
	return nil
}
