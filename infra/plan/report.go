package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"flashsale/infra/model"
)

// plan is the answer in one object.
type plan struct {
	Shards               int     `json:"shards"`
	Buckets              int     `json:"buckets"`
	WarmWrites           int     `json:"warmWrites"`
	Concurrency          int     `json:"concurrency"`
	OrdersPerSecond      float64 `json:"ordersPerSecond"`
	LimitOrdersPerSecond float64 `json:"limitOrdersPerSecond"`
	SecondsToSellOut     float64 `json:"secondsToSellOut"` // 0: not sold out
	WinnersP99Ms         float64 `json:"winnersP99Ms"`
	LosersP99Ms          float64 `json:"losersP99Ms"`
	ConflictRate         float64 `json:"conflictRate"`
	GiveUps              float64 `json:"giveUps"`
	WriteUnits           float64 `json:"writeUnits"`
	Dollars              float64 `json:"dollars"`
	DollarsPer1000Orders float64 `json:"dollarsPer1000Orders"`
}

func summary(a advice, r *model.Result) plan {
	dollars := sum(bill(r, a))
	p := plan{
		Shards: a.shards, Buckets: a.buckets, WarmWrites: a.warmWrites, Concurrency: a.concurrency,
		OrdersPerSecond: rounded(r.OrdersPerSecond(), 10), LimitOrdersPerSecond: rounded(a.limit, 10),
		WinnersP99Ms: float64(r.WinnersP99.Milliseconds()), LosersP99Ms: float64(r.LosersP99.Milliseconds()),
		ConflictRate: rounded(r.ConflictRate(), 10_000), GiveUps: rounded(r.GiveUps, 1), WriteUnits: rounded(r.WriteUnits, 1),
		Dollars: rounded(dollars, 100), DollarsPer1000Orders: rounded(1000*dollars/max(1, float64(r.Accepted)), 10_000),
	}
	if r.Left == 0 {
		p.SecondsToSellOut = rounded(r.LastSold.Seconds(), 1000)
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
	text := strconv.FormatInt(int64(math.Round(x)), 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func printText(out io.Writer, w wish, a advice, r *model.Result, chart string) {
	p := summary(a, r)
	line := func(name, format string, values ...any) {
		_, _ = fmt.Fprintf(out, "  %-26s %s\n", name, fmt.Sprintf(format, values...))
	}
	_, _ = fmt.Fprintf(out, "%s users for %s units, at most %s requests a second at the opening\n\nConfigure\n",
		grouped(float64(w.users)), grouped(float64(w.stock)), grouped(w.peak))
	line("shards", "%d (buckets %d follow from them)", a.shards, a.buckets)
	line("table", "%s write units a second warm (WarmWriteUnitsPerSecond)", grouped(float64(a.warmWrites)))
	line("PurchaseFunction", "reserved concurrency %s (PurchaseReservedConcurrency), %s of it provisioned (PurchaseProvisionedConcurrency), %d MB",
		grouped(float64(a.concurrency)), grouped(float64(a.provisioned)), w.memory)
	line("API throttle", "%s purchases a second and at one instant (PurchaseRateLimit, PurchaseBurstLimit): what the functions can take",
		grouped(a.throttle))
	for _, q := range a.quotas {
		line("quota to raise", "%s", q)
	}
	_, _ = fmt.Fprintf(out, "\nPredicted (transactions take %v and keep an item busy for %v)\n", w.latency, w.window)
	line("orders a second", "%s until the last unit; %s is the limit that %s set at %.0f %% conflicts",
		grouped(p.OrdersPerSecond), grouped(a.limit), a.limitedBy, 100*targetConflicts)
	if r.Left == 0 {
		line("sold out after", "%.1f s", r.LastSold.Seconds())
	} else {
		line("not sold out", "%s units left", grouped(float64(r.Left)))
	}
	line("winners' final answer", "p50 %v, p99 %v", r.WinnersP50.Round(time.Millisecond), r.WinnersP99.Round(time.Millisecond))
	line("losers' final answer", "p50 %v, p99 %v", r.LosersP50.Round(time.Millisecond), r.LosersP99.Round(time.Millisecond))
	line("orders confirmed", "%s, the last after %.1f s", grouped(float64(r.Confirmed)), r.LastConfirmed.Seconds())
	line("conflicts", "%.1f %% of %s transactions", 100*r.ConflictRate(), grouped(float64(r.Transactions)))
	line("give-ups", "%s requests answered \"busy\"; they are safe to repeat", grouped(r.GiveUps))
	line("without an environment", "%s requests, repeated after 1-2 s", grouped(r.LambdaThrottled))
	line("throttled", "%s calls of DynamoDB", grouped(float64(r.Throttled)))
	line("write units", "%s", grouped(r.WriteUnits))
	_, _ = fmt.Fprintln(out, "\nCost (us-east-1, no free tier, without WarmThroughput's one-time charge)")
	for _, c := range bill(r, a) {
		line(c.what, "$%.2f", c.dollars)
	}
	line("total", "$%.2f for the sale, $%.2f per 1,000 orders", p.Dollars, p.DollarsPer1000Orders)
	if r.Sampled > 1 {
		_, _ = fmt.Fprintf(out, "\nFrom 3 s after the last unit was sold, one simulated loser in %d was played and counted as %d; winners never are.\n",
			r.Sampled, r.Sampled)
	}
	_, _ = fmt.Fprintf(out, "\nChart: %s\n", chart)
}
