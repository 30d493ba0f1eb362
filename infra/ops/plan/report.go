package plan

import (
	"fmt"
	"io"
	"math"

	"flashsale/infra/ops/cli"
	"flashsale/infra/ops/deploy/price"
)

func dollars(bill []price.Line) string { return fmt.Sprintf("$%.2f", price.Sum(bill)) }

// planJSON is the plan for programs. Rates are those of a second.
type planJSON struct {
	Shards          int               `json:"shards"`
	Parameters      map[string]string `json:"parameters"` // of the template; the times only if it is known when the sale opens
	QuotasToRaise   []string          `json:"quotasToRaise"`
	FrontAbovePages float64           `json:"frontAbovePages"` // that are opened within ten seconds
	Expected        expectedJSON      `json:"expected"`
	Cost            costJSON          `json:"cost"` // without the pages
	PagesDollars    float64           `json:"pagesDollars"`
	Draw            *drawJSON         `json:"draw,omitempty"`
}

type expectedJSON struct {
	Orders         int64   `json:"orders"`
	Left           int64   `json:"left"`
	PerSecond      float64 `json:"perSecond"`
	SoldOutSeconds float64 `json:"soldOutSeconds,omitempty"` // not if units are left
	ConflictShare  float64 `json:"conflictShare"`
	Transactions   float64 `json:"transactions"`
	NotServed      float64 `json:"notServedAtOnce"`
}

type costJSON struct {
	Lines   []price.Line `json:"lines"`
	Dollars float64      `json:"dollars"`
}

type drawJSON struct {
	Calls    int      `json:"calls"`
	Requests float64  `json:"requests"` // in the busiest second, as the write units
	Writes   float64  `json:"writeUnits"`
	Cost     costJSON `json:"cost"`
}

func costOf(bill []price.Line) costJSON { return costJSON{bill, price.Sum(bill)} }

// planned is what report prints.
func planned(o output, w wish, a advice, r course) planJSON {
	p := planJSON{
		Shards: a.shards, Parameters: a.parameters(o), QuotasToRaise: append([]string{}, a.quotas()...), FrontAbovePages: a.pagesWithoutFront(),
		Expected: expectedJSON{r.orders, r.left, r.perSecond, r.soldOut.Seconds(), r.conflictRate, r.transactions, r.busy},
		Cost:     costOf(r.bill(w, a)), PagesDollars: price.Sum(price.Bill(pagesOf(float64(w.users), w.front))),
	}
	if o.opens.IsZero() {
		delete(p.Parameters, "WarmFrom")
		delete(p.Parameters, "WarmUntil")
	}
	if w.drawn {
		d := drawnAmong(w)
		p.Draw = &drawJSON{d.calls, d.requests, d.writes, costOf(price.Bill(d.usage))}
	}
	return p
}

func report(out io.Writer, w wish, a advice, r course) {
	line := func(name, format string, values ...any) {
		_, _ = fmt.Fprintf(out, "  %-26s %s\n", name, fmt.Sprintf(format, values...))
	}
	each := ""
	if w.maxPerOrder > 1 {
		each = fmt.Sprintf(" in orders of %d", w.maxPerOrder)
	}
	_, _ = fmt.Fprintf(out, "%s users for %s units%s, at most %s requests a second at the opening\n\nConfigure\n",
		cli.Thousands(w.users), cli.Thousands(w.stock), each, cli.Thousands(w.peak))
	line("shards", "%d stock shards, from which %d claim buckets follow", a.shards, a.buckets)
	line("table", "%s write units a second, both warm (WarmWriteUnitsPerSecond) and maximum (MaxWriteRequestUnits)",
		cli.Thousands(a.warmWrites))
	line("PurchaseFunction", "%s environments reserved (PurchaseReservedConcurrency), %s of them provisioned (PurchaseProvisionedConcurrency)",
		cli.Thousands(a.concurrency), cli.Thousands(a.provisioned))
	line("API throttle", "%s purchases a second, the functions' capacity (PurchaseRate)", cli.Thousands(math.Ceil(a.throttle)))
	line("FinalizeFunction", "%d environments, each with one batch at a time (FinalizeMaximumConcurrency), all of them reserved", a.finalizers)
	pageBy := "one sale page for each user; with --front the front answers that"
	if w.front {
		pageBy = "nobody else: the front answers the sale page"
	}
	line("QueryFunction", "%s environments, which are not reserved, and %s requests a second on each route (QueryRate); for winners and %s",
		cli.Thousands(a.queries), cli.Thousands(math.Ceil(a.queryRate)), pageBy)
	line("account", "%s environments reserved, %d of them for OperateFunction, %d for each of ReconcileFunction, ReleaseFunction, DrawFunction and, if there is one, RefundFunction; with those of QueryFunction and %d that cannot be reserved an account quota (concurrent executions) of %s environments is enough",
		cli.Thousands(a.reserved()), operators, reconcilers, keptFree, cli.Thousands(a.accountConcurrency()))
	for _, q := range a.quotas() {
		line("quota to raise", "%s", q)
	}
	line("front", "required above %s pages that are opened within %v: the API admits %s requests for files a second, and Lambda %s to PageFunction, HTML and files, in the environments that are left",
		cli.Thousands(a.pagesWithoutFront()), arrival, cli.Thousands(pageRouteRate), cli.Thousands(a.pageRate()))

	_, _ = fmt.Fprintf(out, "\nExpected (a transaction takes %v; by rules of thumb, not measured)\n", w.latency)
	line("orders a second", "%s until the last unit is sold, with keys on shared partitions; at most %s by the shards, %s by the claim buckets, %s by the table's write units",
		cli.Thousands(r.perSecond), cli.Thousands(a.ofShards), cli.Thousands(a.ofBuckets), cli.Thousands(a.ofTable))
	if r.left == 0 {
		line("sold out after", "%.1f s", r.soldOut.Seconds())
	} else {
		line("not sold out", "%s units left", cli.Thousands(r.left))
	}
	line("conflicts", "%.1f %% of %s transactions; %.0f %% at %s orders a second",
		100*r.conflictRate, cli.Thousands(r.transactions), 100*targetConflicts, cli.Thousands(a.advised))
	line("not served at once", "%s requests, which are safe to repeat", cli.Thousands(r.busy))

	_, _ = fmt.Fprintf(out, "\nCost (%s, %s, no free tier)\n", price.Region, price.Architecture)
	price.Print(out, r.bill(w, a), r.orders)
	_, _ = fmt.Fprintln(out, "\nBilled besides")
	line("pages", "%s if every user opens the page and signs in; %s with a front",
		dollars(price.Bill(pagesOf(float64(w.users), false))), dollars(price.Bill(pagesOf(float64(w.users), true))))
	line("sign-ins", "$%.2f if %s people sign in to the stack's own user pool in the month (CreateUserPool; the first %s are free); with an issuer of yours AWS bills nothing",
		price.SignIns(w.users), cli.Thousands(w.users), cli.Thousands(price.FreeSignIns))
	if a.warmWrites > coldWrites {
		line("warm throughput", "once, when it is raised, and never lowered: the table keeps it for good; AWS's price list has the sum, this plan does not")
	}
	line("each month", "what stands still: infra/docs/FIGURES.md, Costs at rest")
	line("left out", "access log and traces; calls for payments and order events; data to the internet; SMS and mail of a user pool; what a payment provider and your own services cost")
	if w.drawn {
		printDraw(out, w, a, r)
	}
}
