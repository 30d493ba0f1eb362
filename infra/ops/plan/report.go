package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"flashsale/infra/kit/chart"
	"flashsale/infra/ops/deploy/price"
	"flashsale/infra/ops/model"
)

// pageBy describes who answers the sale page.
func pageBy(w wish) string {
	if w.front {
		return "for winners only: the front answers the sale page"
	}
	return "for winners and one sale page for each user; with FRONT=1 the front answers the sale page"
}

// plan is the whole result.
type plan struct {
	Shards              int `json:"shards"`
	Buckets             int `json:"buckets"`
	WarmWrites          int `json:"warmWrites"`
	Concurrency         int `json:"concurrency"`
	FinalizeConcurrency int `json:"finalizeConcurrency"`
	QueryConcurrency    int `json:"queryConcurrency"`
	AccountConcurrency  int `json:"accountConcurrency"`
	// OrdersPerSecond assumes hot keys on shared partitions, like all other fields;
	// OrdersPerSecondUnshared assumes a partition for each key.
	OrdersPerSecond         float64 `json:"ordersPerSecond"`
	OrdersPerSecondUnshared float64 `json:"ordersPerSecondUnshared"`
	AdvisedOrdersPerSecond  float64 `json:"advisedOrdersPerSecond"`
	BusyOrdersPerSecond     float64 `json:"busyOrdersPerSecond"`
	CeilingOrdersPerSecond  float64 `json:"ceilingOrdersPerSecond"`
	BucketOrdersPerSecond   float64 `json:"bucketOrdersPerSecond"`
	TableOrdersPerSecond    float64 `json:"tableOrdersPerSecond"`
	SecondsToSellOut        float64 `json:"secondsToSellOut"`     // 0: not sold out
	LastConfirmedSeconds    float64 `json:"lastConfirmedSeconds"` // 0: not all are confirmed
	WinnersP99Ms            float64 `json:"winnersP99Ms"`
	LosersP99Ms             float64 `json:"losersP99Ms"`
	Orders                  int64   `json:"orders"`
	ConflictRate            float64 `json:"conflictRate"`
	Conflicts               int     `json:"conflicts"`
	GiveUps                 float64 `json:"giveUps"`
	WriteUnits              float64 `json:"writeUnits"`
	Dollars                 float64 `json:"dollars"`
	DollarsPer1000Orders    float64 `json:"dollarsPer1000Orders"`
	// SignInDollars is what the users cost who sign in to the stack's own user pool, which Dollars leaves out.
	SignInDollars float64 `json:"signInDollars"`
	// PagesWithoutFront is the number of open pages above which a front is required.
	PagesWithoutFront float64 `json:"pagesWithoutFront"`
	// Draw is a draw beside the rush, if it was asked for.
	Draw *drawPlan `json:"draw,omitempty"`
}

func summary(w wish, a advice, r, unshared *model.Result) plan {
	dollars := price.Sum(bill(r, a))
	signIns, _ := price.SignIns(w.users)
	p := plan{
		Shards: a.shards, Buckets: a.buckets, WarmWrites: a.warmWrites, Concurrency: a.concurrency,
		FinalizeConcurrency: a.finalizers, QueryConcurrency: a.queries, AccountConcurrency: a.accountConcurrency(),
		OrdersPerSecond: rounded(r.OrdersPerSecond(), 10), OrdersPerSecondUnshared: rounded(unshared.OrdersPerSecond(), 10),
		AdvisedOrdersPerSecond: rounded(a.rates.advised, 10), BusyOrdersPerSecond: rounded(a.rates.busy, 10),
		CeilingOrdersPerSecond: rounded(a.rates.ceiling, 10), BucketOrdersPerSecond: rounded(a.rates.buckets, 10),
		TableOrdersPerSecond: rounded(a.rates.table, 10),
		WinnersP99Ms:         float64(r.WinnersP99.Milliseconds()), LosersP99Ms: float64(r.LosersP99.Milliseconds()),
		Orders: r.Accepted, Conflicts: r.Conflicts, ConflictRate: rounded(r.ConflictRate(), 10_000), GiveUps: rounded(r.GiveUps, 1), WriteUnits: rounded(r.WriteUnits, 1),
		Dollars: rounded(dollars, 100), DollarsPer1000Orders: rounded(1000*dollars/max(1, float64(r.Accepted)), 10_000), SignInDollars: rounded(signIns, 100), PagesWithoutFront: pagesWithoutFront(a),
	}
	if w.drawn {
		p.Draw = drawSummary(w, a, r)
	}
	if r.Left == 0 {
		p.SecondsToSellOut = rounded(r.LastSold.Seconds(), 1000)
	}
	if r.Confirmed == r.Accepted {
		p.LastConfirmedSeconds = rounded(r.LastConfirmed.Seconds(), 1000)
	}
	return p
}

func rounded(x, parts float64) float64 { return math.Round(x*parts) / parts }

func printJSON(w io.Writer, p plan) error {
	if err := json.NewEncoder(w).Encode(p); err != nil {
		return fmt.Errorf("print plan: %w", err)
	}
	return nil
}

// grouped writes a whole number with a comma between thousands.
func grouped(x float64) string {
	return message.NewPrinter(language.English).Sprint(int64(math.Round(x)))
}

func printText(out io.Writer, w wish, a advice, r, unshared *model.Result, chart string) {
	p := summary(w, a, r, unshared)
	line := func(name, format string, values ...any) {
		_, _ = fmt.Fprintf(out, "  %-26s %s\n", name, fmt.Sprintf(format, values...))
	}
	_, _ = fmt.Fprintf(out, "%s users for %s units, at most %s requests a second at the opening\n\nConfigure\n",
		grouped(float64(w.users)), grouped(float64(w.stock)), grouped(w.peak))
	line("shards", "%d stock shards, from which %d claim buckets follow", a.shards, a.buckets)
	line("table", "%s write units a second, both warm (WarmWriteUnitsPerSecond) and maximum (MaxWriteRequestUnits)", grouped(float64(a.warmWrites)))
	line("PurchaseFunction", "%s environments reserved (PurchaseReservedConcurrency), %s of them provisioned (PurchaseProvisionedConcurrency), %d MB each",
		grouped(float64(a.concurrency)), grouped(float64(a.provisioned)), w.memory)
	line("API throttle", "%s purchases a second (PurchaseRateLimit): the functions' capacity; %s in a burst (PurchaseBurstLimit)",
		grouped(a.throttle), grouped(burst(a.throttle)))
	line("FinalizeFunction", "%d environments, each with one batch at a time (FinalizeMaximumConcurrency), all of them reserved (FinalizeReservedConcurrency)", a.finalizers)
	line("QueryFunction", "%s environments reserved (QueryReservedConcurrency), %s requests a second on each route (QueryRateLimit), %s in a burst (QueryBurstLimit); %s",
		grouped(float64(a.queries)), grouped(a.queryRate), grouped(burst(a.queryRate)), pageBy(w))
	line("sale's page", "up to %s read units a second while the sale is open: each of QueryFunction's environments that serve it reads the sale and counts the units left, once a second%s", grouped(a.pageReads(w.front)), a.pageReadsAdvice(w.front))
	line("account", "%s environments reserved, %d of them for OperateFunction, %d for each of ReconcileFunction, ReleaseFunction and DrawFunction, and %d that cannot be reserved; an account quota (concurrent executions) of %s environments is enough",
		grouped(float64(a.reserved())), operators, reconcilers, keptFree, grouped(float64(a.accountConcurrency())))
	for _, q := range a.quotas {
		line("quota to raise", "%s", q)
	}
	_, _ = fmt.Fprintf(out, "\nPredicted (a transaction takes %v and keeps an item busy for %v; times are from the opening unless noted)\n", w.latency, w.window)
	line("orders a second", "%s until the last unit is sold, with keys on shared partitions, as in all figures below; %s with a partition for each key",
		grouped(p.OrdersPerSecond), grouped(p.OrdersPerSecondUnshared))
	line("advised rate", "%s orders a second: %.0f %% of the transactions conflict", grouped(a.rates.advised), 100*targetConflicts)
	line("busy rate", "%s orders a second: about 1 %% of the buyers get \"busy\"", grouped(a.rates.busy))
	line("ceiling", "orders a second: %s by the shards, %s by the claim buckets, %s by the table's write units",
		grouped(a.rates.ceiling), grouped(a.rates.buckets), grouped(a.rates.table))
	if r.Left == 0 {
		line("sold out after", "%.1f s", r.LastSold.Seconds())
	} else {
		line("not sold out", "%s units left", grouped(float64(r.Left)))
	}
	line("winners' final answer", "p50 %v, p99 %v after the buyer's first request", r.WinnersP50.Round(time.Millisecond), r.WinnersP99.Round(time.Millisecond))
	line("losers' final answer", "p50 %v, p99 %v after the buyer's first request", r.LosersP50.Round(time.Millisecond), r.LosersP99.Round(time.Millisecond))
	line("orders confirmed", "%s orders, the last after %.1f s", grouped(float64(r.Confirmed)), r.LastConfirmed.Seconds())
	line("conflicts", "%.1f %% of %s transactions", 100*r.ConflictRate(), grouped(float64(r.Transactions)))
	line("give-ups", "%s requests answered \"busy\", which are safe to repeat", grouped(r.GiveUps))
	line("refused by the throttle", "%s requests, which are not billed; repeated after 1-2 s", grouped(r.GatewayThrottled))
	line("refused by Lambda", "%s requests for lack of an environment, %s above Lambda's request rate; repeated after 1-2 s",
		grouped(r.LambdaThrottled), grouped(r.RateThrottled))
	line("throttled by DynamoDB", "%s calls, %s of them reads of the sale item", grouped(float64(r.Throttled)), grouped(float64(r.HotReads)))
	line("sold out without a try", "99.9 %% of the refusals, from %.1f s after the last unit was sold", r.QuietAfter(0.999).Seconds())
	line("looked for an order", "before %.1f %% of the refusals; the others found the table throttled", 100*r.Looked/max(1, r.Refused))
	line("winners' polls", "%s requests until every order was confirmed", grouped(r.Polls))
	line("write units", "%s consumed by the table", grouped(r.WriteUnits))
	_, _ = fmt.Fprintf(out, "\nCost (%s, %s, no free tier, without the pages and what is billed besides)\n", price.Region, price.Architecture)
	if w.region != price.Region {
		line("prices", "unknown for %s", w.region)
	}
	price.Print(out, bill(r, a), r.Accepted)
	if w.drawn {
		printDrawing(out, w, a, r)
	}
	printOther(out, w, a, r)
	printPages(out, w, a)
	printReleases(out, w.memory)
	printEvents(out, w.memory)
	if r.Sampled > 1 {
		_, _ = fmt.Fprintf(out, "\nFrom 3 s after the last unit was sold, one loser in %d was simulated and counted as %d; every winner was simulated.\n",
			r.Sampled, r.Sampled)
	}
	_, _ = fmt.Fprintf(out, "\nChart: %s\n", chart)
}

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

func writeChart(path string, w wish, a advice, r *model.Result) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write chart: %w", err)
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write chart: %w", err)
	}
	err = page.Execute(f, map[string]any{
		"Users": grouped(float64(w.users)), "Stock": grouped(float64(w.stock)), "Peak": grouped(w.peak), "Latency": w.latency, "Window": w.window,
		"Style": chart.Style, "Plots": draw(a, r),
	})
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("write chart: %w", err)
	}
	return nil
}

// progress is a line that is redrawn during the simulated sale.
type progress struct {
	out     io.Writer
	wish    wish
	percent int
}

func newProgress(out io.Writer, w wish) *progress {
	return &progress{out: out, wish: w, percent: -1}
}

// show draws the line when it has changed. Errors are ignored.
func (p *progress) show(now model.Progress) {
	sold := 100 * now.Sold / p.wish.stock
	percent := 100 * now.Came / p.wish.users
	if percent+int(sold) == p.percent {
		return
	}
	p.percent = percent + int(sold)
	bar := strings.Repeat("#", percent/4) + strings.Repeat(".", 25-percent/4)
	_, _ = fmt.Fprintf(p.out, "\r[%s] %3d %% of the users arrived, %3d %% of the units sold, %5.1f s into the sale", bar, percent, sold, now.Elapsed.Seconds())
}

func (p *progress) end() { _, _ = fmt.Fprintln(p.out) }
