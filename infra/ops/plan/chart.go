package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"path/filepath"

	"flashsale/infra/kit/chart"
	"flashsale/infra/ops/deploy/price"
	"flashsale/infra/ops/model"
)

//go:embed page.html
var text string

// The template escapes everything that is not a drawing of package chart.
var page = template.Must(template.New("plan").Parse(text))

// drawn is one plot with its heading and what it shows.
type drawn struct {
	Name, Says string
	SVG        template.HTML
}

// draw plots the stock and what happens every second until shortly after the end.
func draw(a advice, r *model.Result) []drawn {
	end := len(r.Bins)
	marks := []chart.Mark{{Name: "opening", At: 0}}
	if r.Left == 0 {
		end = min(end, int(1.3*float64(r.LastSold)/float64(model.BinWidth))+10)
		marks = append(marks, chart.Mark{Name: "sold out", At: r.LastSold.Seconds()})
	}
	left := float64(r.Config.Stock)
	stock := chart.Line{Name: "units left", Values: []float64{left}} // at the beginning of each bin
	requests, accepted, confirmed := chart.Line{Name: "requests"}, chart.Line{Name: "orders accepted"}, chart.Line{Name: "orders confirmed"}
	transactions, conflicts := chart.Line{Name: "transactions tried"}, chart.Line{Name: "of which conflicted"}
	refused := chart.Line{Name: "told \u201csold out\u201d"}
	for _, b := range r.Bins[:end] {
		left -= float64(b.Accepted)
		stock.Values = append(stock.Values, left)
		for _, l := range []struct {
			line *chart.Line
			n    float64
		}{
			{&requests, b.Requests}, {&accepted, float64(b.Accepted)}, {&confirmed, float64(b.Confirmed)},
			{&transactions, float64(b.Transactions)}, {&conflicts, float64(b.Conflicts)}, {&refused, b.Refused},
		} {
			l.line.Values = append(l.line.Values, l.n/model.BinWidth.Seconds())
		}
	}
	plot := func(name, says, y string, logarithmic bool, level *chart.Mark, lines ...chart.Line) drawn {
		return drawn{name, says, chart.Plot{
			X: "simulated seconds since the opening", Y: y, Step: model.BinWidth.Seconds(),
			Lines: lines, Log: logarithmic, Level: level, Marks: marks,
		}.SVG()}
	}
	return []drawn{
		plot("Stock", "Until the line reaches 0, buyers can still get a unit.", "units left", false, nil, stock),
		plot("Requests and orders", "Every purchase that is sent, throttled ones and repeats included; orders accepted, which are durable; and orders "+
			"confirmed, which have their order id. The scale is logarithmic: a step is ten times as many.",
			"a second, logarithmic", true, &chart.Mark{Name: "advised rate of orders", At: a.rates.bound()}, requests, accepted, confirmed),
		plot("Transactions", "Two purchases conflict when they want the same stock shard at the same moment; one of them tries again.",
			"transactions a second", false, nil, transactions, conflicts),
		plot("Refusals", "Buyers who learn that nothing is left. Soon after the last unit, the answers come from the functions' memory and cost no transaction.",
			"answers a second", false, nil, refused),
	}
}

// pair is a line of a table.
type pair struct{ Name, Value string }

// figures are what to configure and what comes of it.
func figures(a advice, r *model.Result) (configure, predicted []pair) {
	configure = []pair{
		{"Stock shards", grouped(float64(a.shards))},
		{"Write units a second of the table", grouped(float64(a.warmWrites))},
		{"Environments of PurchaseFunction", grouped(float64(a.concurrency))},
		{"of which provisioned", grouped(float64(a.provisioned))},
		{"Purchases a second that the API admits", grouped(a.throttle)},
		{"Environments of FinalizeFunction", grouped(float64(a.finalizers))},
		{"Environments of QueryFunction", grouped(float64(a.queries))},
	}
	sold := pair{"Units left at the end", grouped(float64(r.Left))}
	if r.Left == 0 {
		sold = pair{"Sold out after", fmt.Sprintf("%.1f s", r.LastSold.Seconds())}
	}
	return configure, []pair{
		sold,
		{"Orders a second until then", grouped(r.OrdersPerSecond())},
		{"Last order confirmed after", fmt.Sprintf("%.1f s", r.LastConfirmed.Seconds())},
		{"Winners know after, 99 % of them", fmt.Sprintf("%.1f s", r.WinnersP99.Seconds())},
		{"Losers know after, 99 % of them", fmt.Sprintf("%.1f s", r.LosersP99.Seconds())},
		{"Transactions that conflict", fmt.Sprintf("%.0f %%", 100*r.ConflictRate())},
	}
}

func writeChart(path string, w wish, a advice, r *model.Result) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write chart: %w", err)
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write chart: %w", err)
	}
	configure, predicted := figures(a, r)
	list, known := price.Find(w.region, price.Architecture)
	err = page.Execute(f, map[string]any{
		"Users": grouped(float64(w.users)), "Stock": grouped(float64(w.stock)), "Peak": grouped(w.peak), "Latency": w.latency, "Window": w.window,
		"Style": chart.Style, "Plots": draw(a, r), "Configure": configure, "Predicted": predicted, "Quotas": a.quotas,
		"Bill": price.Rows(bill(r, a, w.region), r.Accepted), "Prices": list, "Known": known, "Region": w.region,
	})
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("write chart: %w", err)
	}
	return nil
}
