package main

import (
	"fmt"
	"html/template"
	"os"
	"path/filepath"

	"flashsale/infra/chart"
	"flashsale/infra/model"
)

// drawn is one plot with its heading.
type drawn struct {
	Name string
	SVG  template.HTML
}

// draw plots stock, acceptances, conflicts and refusals until shortly after the end.
func draw(a advice, r *model.Result) []drawn {
	end := len(r.Bins)
	marks := []chart.Mark{{Name: "opening", At: 0}}
	if r.Left == 0 {
		end = min(end, int(1.3*float64(r.LastSold)/float64(model.BinWidth))+10)
		marks = append(marks, chart.Mark{Name: "sold out", At: r.LastSold.Seconds()})
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
	plot := func(name, y string, values []float64, level *chart.Mark) drawn {
		return drawn{name, chart.Plot{
			X: "simulated seconds since the opening", Y: y, Step: model.BinWidth.Seconds(),
			Lines: []chart.Line{{Name: name, Values: values}}, Level: level, Marks: marks,
		}.SVG()}
	}
	return []drawn{
		plot("Units left", "units", stock, nil),
		plot("Accepted", "orders a second", accepted, &chart.Mark{Name: "advised rate", At: a.rates.bound()}),
		plot("Conflicts", "transactions a second", conflicts, nil),
		plot("Told \"sold out\"", "answers a second", refused, nil),
	}
}

var page = template.Must(template.New("chart").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>flashsale plan</title>
<style>body{font:14px system-ui,sans-serif;margin:24px;max-width:920px}h2{font-size:14px;margin:18px 0 4px}
{{.Style}}</style>
<h1>Plan: {{.Title}}</h1>
{{range .Plots}}<h2>{{.Name}}</h2>
{{.SVG}}
{{end}}</html>
`))

func writeChart(path string, w wish, a advice, r *model.Result) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write chart: %w", err)
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write chart: %w", err)
	}
	title := fmt.Sprintf("%s users, %s units, %d shards", grouped(float64(w.users)), grouped(float64(w.stock)), a.shards)
	err = page.Execute(f, struct {
		Title string
		Style template.CSS
		Plots []drawn
	}{title, chart.Style, draw(a, r)})
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("write chart: %w", err)
	}
	return nil
}
