package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
)

// mostFindings bounds the printed findings: a broken promise tends to affect thousands of buyers.
const mostFindings = 20

// result is the contents of a report.
type result struct {
	title     string
	settings  [][2]string
	took      time.Duration
	latencies []latencyRow
	// outcomes counts all purchase requests; byKind counts the first answers by kind of
	// buyer.
	outcomes, polls []counted
	// orders is what became of the orders of a sale that asks for payment; empty if it does not.
	orders  []counted
	byKind  []kindRow
	seconds []second
	// peakAccepted is the maximum number of purchases accepted in one second.
	peakAccepted, accepted, confirmed, givenUp, unconfirmed int64
	findings                                                []books.Finding
	receipt                                                 string
	receiptMade, broken                                     bool
}

type kindRow struct {
	Kind   kind
	Firsts []counted
}

// result closes the tally; nothing may be added afterwards.
func (t *tally) result(took time.Duration) result {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := result{
		took:     took,
		outcomes: breakdown(t.all), polls: breakdown(t.polls), seconds: t.seconds, orders: breakdown(t.orders),
		accepted: t.all[client.Accepted], confirmed: t.toOrderID.count(), givenUp: t.givenUp, unconfirmed: t.lost,
		latencies: []latencyRow{
			t.firstAnswer.row("click to first answer"), t.finalAnswer.row("click to final answer"),
			t.toOrderID.row("click to order id seen"), t.poll.row("status poll"), t.queue.row("queueing in the generator"),
		},
	}
	if t.webhook.count() > 0 {
		r.latencies = append(r.latencies, t.webhook.row("payment to webhook answered"))
	}
	for _, s := range t.seconds {
		r.peakAccepted = max(r.peakAccepted, s.counts[client.Accepted])
	}
	for _, k := range slices.Sorted(maps.Keys(t.firsts)) {
		r.byKind = append(r.byKind, kindRow{k, breakdown(t.firsts[k])})
	}
	return r
}

// print writes the short form for a terminal.
func (r *result) print(w io.Writer) {
	fmt.Fprintf(w, "\n%-27s %9s %9s %9s %9s %9s %9s\n", "from the intended time", "count", "p50", "p90", "p99", "p99.9", "max")
	for _, l := range r.latencies {
		fmt.Fprintf(w, "%-27s %9d %9s %9s %9s %9s %9s\n", l.Name, l.Count, ms(l.P50), ms(l.P90), ms(l.P99), ms(l.P999), ms(l.Max))
	}
	fmt.Fprintf(w, "\naccepted %d (most in a second: %d), order ids seen %d, gave up %d, no order id in time %d, took %v\n",
		r.accepted, r.peakAccepted, r.confirmed, r.givenUp, r.unconfirmed, r.took.Round(100*time.Millisecond))
	rows := func(counts []counted) {
		for _, c := range counts {
			fmt.Fprintf(w, "  %-20s %9d  %5.1f %%\n", c.Outcome, c.Count, c.Percent)
		}
	}
	rows(r.outcomes)
	if len(r.orders) > 0 {
		fmt.Fprintln(w, "orders and late payments:")
		rows(r.orders)
	}
	fmt.Fprintf(w, "\n%s\n", cmp.Or(r.receipt, "no receipt"))
	if len(r.findings) == 0 {
		fmt.Fprintln(w, "no broken promise was seen")
		return
	}
	fmt.Fprintln(w, "BROKEN:")
	for _, f := range r.findings[:min(len(r.findings), mostFindings)] {
		fmt.Fprintln(w, "  -", f)
	}
	if more := len(r.findings) - mostFindings; more > 0 {
		fmt.Fprintf(w, "  - and %d more\n", more)
	}
}

// ms formats a duration for a column.
func ms(d time.Duration) string {
	v := float64(d) / float64(time.Millisecond)
	if v < 10 {
		return fmt.Sprintf("%.2fms", v)
	}
	return fmt.Sprintf("%.0fms", v)
}
