package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"flashsale/infra/ops/deploy/price"
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
	Shards                 int     `json:"shards"`
	Buckets                int     `json:"buckets"`
	WarmWrites             int     `json:"warmWrites"`
	Concurrency            int     `json:"concurrency"`
	FinalizeConcurrency    int     `json:"finalizeConcurrency"`
	QueryConcurrency       int     `json:"queryConcurrency"`
	AccountConcurrency     int     `json:"accountConcurrency"`
	OrdersPerSecond        float64 `json:"ordersPerSecond"`
	AdvisedOrdersPerSecond float64 `json:"advisedOrdersPerSecond"`
	BusyOrdersPerSecond    float64 `json:"busyOrdersPerSecond"`
	CeilingOrdersPerSecond float64 `json:"ceilingOrdersPerSecond"`
	BucketOrdersPerSecond  float64 `json:"bucketOrdersPerSecond"`
	TableOrdersPerSecond   float64 `json:"tableOrdersPerSecond"`
	SecondsToSellOut       float64 `json:"secondsToSellOut"` // 0: not sold out
	Orders                 int64   `json:"orders"`
	ConflictRate           float64 `json:"conflictRate"`
	WriteUnits             float64 `json:"writeUnits"`
	Dollars                float64 `json:"dollars"`
	DollarsPer1000Orders   float64 `json:"dollarsPer1000Orders"`
	// SignInDollars is what the users cost who sign in to the stack's own user pool, which Dollars leaves out.
	SignInDollars float64 `json:"signInDollars"`
	// PagesWithoutFront is the number of open pages above which a front is required.
	PagesWithoutFront float64 `json:"pagesWithoutFront"`
	// Draw is a draw beside the rush, if it was asked for.
	Draw *drawPlan `json:"draw,omitempty"`
}

func summary(w wish, a advice, r course) plan {
	dollars := price.Sum(bill(w, a, r))
	signIns, _ := price.SignIns(w.users)
	p := plan{
		Shards: a.shards, Buckets: a.buckets, WarmWrites: a.warmWrites, Concurrency: a.concurrency,
		FinalizeConcurrency: a.finalizers, QueryConcurrency: a.queries, AccountConcurrency: a.accountConcurrency(),
		OrdersPerSecond: rounded(r.perSecond, 10), AdvisedOrdersPerSecond: rounded(a.rates.advised, 10), BusyOrdersPerSecond: rounded(a.rates.busy, 10),
		CeilingOrdersPerSecond: rounded(a.rates.ceiling, 10), BucketOrdersPerSecond: rounded(a.rates.buckets, 10),
		TableOrdersPerSecond: rounded(a.rates.table, 10), SecondsToSellOut: rounded(r.soldOut.Seconds(), 1000),
		Orders: r.orders, ConflictRate: rounded(r.conflictRate, 10_000), WriteUnits: rounded(r.writeUnits, 1),
		Dollars: rounded(dollars, 100), DollarsPer1000Orders: rounded(1000*dollars/float64(r.orders), 10_000),
		SignInDollars: rounded(signIns, 100), PagesWithoutFront: pagesWithoutFront(a),
	}
	if w.drawn {
		p.Draw = drawSummary(w, a, r)
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

func printText(out io.Writer, w wish, a advice, r course) {
	line := func(name, format string, values ...any) {
		_, _ = fmt.Fprintf(out, "  %-26s %s\n", name, fmt.Sprintf(format, values...))
	}
	_, _ = fmt.Fprintf(out, "%s users for %s units, at most %s requests a second at the opening\n\nConfigure\n",
		grouped(float64(w.users)), grouped(float64(w.stock)), grouped(w.peak))
	line("shards", "%d stock shards, from which %d claim buckets follow", a.shards, a.buckets)
	line("table", "%s write units a second, both warm (WarmWriteUnitsPerSecond) and maximum (MaxWriteRequestUnits)", grouped(float64(a.warmWrites)))
	line("PurchaseFunction", "%s environments reserved (Purchase in ReservedConcurrency), %s of them provisioned (PurchaseProvisionedConcurrency), %d MB each",
		grouped(float64(a.concurrency)), grouped(float64(a.provisioned)), w.memory)
	line("API throttle", "%s purchases a second, the functions' capacity, and %s in a burst: %s (PurchaseThrottle)",
		grouped(a.throttle), grouped(burst(a.throttle)), throttle(a.throttle))
	line("FinalizeFunction", "%d environments, each with one batch at a time (FinalizeMaximumConcurrency), all of them reserved (Finalize in ReservedConcurrency)", a.finalizers)
	line("QueryFunction", "%s environments reserved (Query in ReservedConcurrency), %s requests a second on each route, %s in a burst: %s (QueryThrottle); %s",
		grouped(float64(a.queries)), grouped(a.queryRate), grouped(burst(a.queryRate)), throttle(a.queryRate), pageBy(w))
	line("sale's page", "up to %s read units a second while the sale is open: each of QueryFunction's environments that serve it reads the sale and counts the units left, once a second%s", grouped(a.pageReads(w.front)), a.pageReadsAdvice(w.front))
	line("account", "%s environments reserved, %d of them for OperateFunction, %d for each of ReconcileFunction, ReleaseFunction and DrawFunction, and %d that cannot be reserved; an account quota (concurrent executions) of %s environments is enough",
		grouped(float64(a.reserved())), operators, reconcilers, keptFree, grouped(float64(a.accountConcurrency())))
	for _, q := range a.quotas {
		line("quota to raise", "%s", q)
	}
	_, _ = fmt.Fprintf(out, "\nExpected (a transaction takes %v and keeps an item busy for %v; by rules of thumb, not measured)\n", w.latency, w.window)
	line("orders a second", "%s until the last unit is sold, with keys on shared partitions", grouped(r.perSecond))
	line("advised rate", "%s orders a second: %.0f %% of the transactions conflict", grouped(a.rates.advised), 100*targetConflicts)
	line("busy rate", "%s orders a second: about 1 %% of the buyers get \"busy\"", grouped(a.rates.busy))
	line("ceiling", "orders a second: %s by the shards, %s by the claim buckets, %s by the table's write units",
		grouped(a.rates.ceiling), grouped(a.rates.buckets), grouped(a.rates.table))
	if r.left == 0 {
		line("sold out after", "%.1f s", r.soldOut.Seconds())
	} else {
		line("not sold out", "%s units left", grouped(float64(r.left)))
	}
	line("conflicts", "%.1f %% of %s transactions", 100*r.conflictRate, grouped(r.transactions))
	line("not served at once", "%s requests, which are safe to repeat", grouped(r.busy))
	line("refused by the throttle", "%s requests, which are not billed; repeated after 1-2 s", grouped(r.refused))
	line("winners' polls", "%s requests until every order was confirmed", grouped(r.polls))
	line("write units", "%s consumed by the table", grouped(r.writeUnits))
	_, _ = fmt.Fprintf(out, "\nCost (%s, %s, no free tier, without the pages and what is billed besides)\n", price.Region, price.Architecture)
	if w.region != price.Region {
		line("prices", "unknown for %s", w.region)
	}
	price.Print(out, bill(w, a, r), r.orders)
	if w.drawn {
		printDrawing(out, w, a, r)
	}
	printOther(out, w, a, r)
	printPages(out, w, a)
}
