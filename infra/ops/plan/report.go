package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

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
	ConflictRate            float64 `json:"conflictRate"`
	GiveUps                 float64 `json:"giveUps"`
	WriteUnits              float64 `json:"writeUnits"`
	Dollars                 float64 `json:"dollars"`
	DollarsPer1000Orders    float64 `json:"dollarsPer1000Orders"`
	// PagesWithoutFront is the number of open pages above which a front is required.
	PagesWithoutFront float64 `json:"pagesWithoutFront"`
}

func summary(w wish, a advice, r, unshared *model.Result) plan {
	dollars := price.Sum(bill(r, a, w.region))
	p := plan{
		Shards: a.shards, Buckets: a.buckets, WarmWrites: a.warmWrites, Concurrency: a.concurrency,
		FinalizeConcurrency: a.finalizers, QueryConcurrency: a.queries, AccountConcurrency: a.accountConcurrency(),
		OrdersPerSecond: rounded(r.OrdersPerSecond(), 10), OrdersPerSecondUnshared: rounded(unshared.OrdersPerSecond(), 10),
		AdvisedOrdersPerSecond: rounded(a.rates.advised, 10), BusyOrdersPerSecond: rounded(a.rates.busy, 10),
		CeilingOrdersPerSecond: rounded(a.rates.ceiling, 10), BucketOrdersPerSecond: rounded(a.rates.buckets, 10),
		TableOrdersPerSecond: rounded(a.rates.table, 10),
		WinnersP99Ms:         float64(r.WinnersP99.Milliseconds()), LosersP99Ms: float64(r.LosersP99.Milliseconds()),
		ConflictRate: rounded(r.ConflictRate(), 10_000), GiveUps: rounded(r.GiveUps, 1), WriteUnits: rounded(r.WriteUnits, 1),
		Dollars: rounded(dollars, 100), DollarsPer1000Orders: rounded(1000*dollars/max(1, float64(r.Accepted)), 10_000), PagesWithoutFront: pagesWithoutFront(a),
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
	text := strconv.FormatInt(int64(math.Round(x)), 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
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
	line("account", "%s environments reserved, %d of them for ReconcileFunction and %d for ReleaseFunction, and %d that cannot be reserved; an account quota (concurrent executions) of %s environments is enough",
		grouped(float64(a.reserved())), reconcilers, releasers, keptFree, grouped(float64(a.accountConcurrency())))
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
	list, known := price.Find(w.region, price.Architecture)
	_, _ = fmt.Fprintf(out, "\nCost (%s, %s, no free tier, without WarmThroughput's one-time charge and the pages)\n", list.Region, list.Architecture)
	if !known {
		line("prices", "unknown for %s", w.region)
	}
	price.Print(out, bill(r, a, w.region), r.Accepted)
	printPages(out, w, a, list)
	printReleases(out, w.memory, list)
	printEvents(out, w.memory, list)
	if a.warmWrites > coldWrites {
		_, _ = fmt.Fprintf(out, "\nWarm throughput is charged once, when it is raised, and can never be lowered: the table keeps it for good.\n")
	}
	if r.Sampled > 1 {
		_, _ = fmt.Fprintf(out, "\nFrom 3 s after the last unit was sold, one loser in %d was simulated and counted as %d; every winner was simulated.\n",
			r.Sampled, r.Sampled)
	}
	_, _ = fmt.Fprintf(out, "\nChart: %s\n", chart)
}
