package plan

import (
	"fmt"
	"io"
	"math"
	"time"

	"flashsale/infra/ops/cli"
	"flashsale/infra/ops/deploy/price"
)

const (
	// checks is how often an entrant reads something of the draw: a page of the roll before the
	// dice, and the sale with its seed after them.
	checks = 2.0
	// readsPerOrder is what the purchase of somebody who was called and the polls after it read.
	readsPerOrder = 10
	// Assumed: the busiest second has that many times the requests of the average one, and of
	// those who are called in a call so many come.
	rush, show = 10.0, 0.8
	// diceTime is how long the roll is there before the dice: a page of it is read at a random moment of that.
	diceTime = time.Hour
	// enterTime is about how long an entry takes in the function.
	enterTime = 15 * time.Millisecond
)

// draw is what a draw of the units among the users takes, in place of the rush: the entries, what
// entrants read, and the orders. Reading the roll and calling costs cents.
type draw struct {
	calls            int
	requests, writes float64 // in the busiest second
	usage            price.Usage
}

// drawnAmong returns what a draw takes. Nobody gains by being quick, so purchases spread over the
// calls, and no transactions conflict.
func drawnAmong(w wish) draw {
	var d draw
	n, units := float64(w.users), float64(min(w.stock, int64(w.users)))
	for left := units; left >= 1; left -= max(1, math.Floor(left*show)) {
		d.calls++
	}
	entries, looks := rush*n/w.enter.Seconds(), rush*n/w.keep.Seconds()
	buyers := rush * units * show / w.keep.Seconds()
	d.requests = max(entries, n/diceTime.Seconds(), looks+buyers*(1+pollsOfBuyer))
	d.writes = max(entries, buyers*(w.unitsPerTry()+unitsToConfirm))

	const gb = price.Memory / 1024.0
	u := &d.usage
	u.Requests = (1+checks)*n + (1+pollsOfBuyer)*units
	u.Invocations = u.Requests + units // one for the message, too: few come at once
	u.GBSeconds = gb * (n*(enterTime+checks*queryTime).Seconds() + units*(w.purchaseTime()+time.Duration(pollsOfBuyer)*queryTime+batchTime).Seconds())
	u.WriteUnits = n + units*(w.unitsPerTry()+unitsToConfirm)
	u.ReadUnits = readsPerOrder * units
	u.QueueCalls = 3 * units // sent, received and deleted one by one
	u.LogBytes = bytesPerLine * u.Invocations
	return d
}

// printDraw prints a draw beside the rush.
func printDraw(out io.Writer, w wish, a advice, r course) {
	d := drawnAmong(w)
	_, _ = fmt.Fprintf(out, "\nA draw of these units among these users, beside the rush (entering for %v, %v to buy in each of %d calls; assumed: the busiest second has %.0f times the average, %.0f %% of the called come)\n",
		w.enter, w.keep, d.calls, rush, 100*show)
	row := func(what, draw, rush string) { _, _ = fmt.Fprintf(out, "  %-38s %16s %16s\n", what, draw, rush) }
	row("", "draw", "rush")
	row("requests in the busiest second", cli.Thousands(math.Ceil(d.requests)), cli.Thousands(w.peak))
	row("environments at once, at most", cli.Thousands(math.Ceil(d.requests*w.purchaseTime().Seconds())), cli.Thousands(a.concurrency))
	row("write units in the busiest second", cli.Thousands(math.Ceil(d.writes)), "up to "+cli.Thousands(a.warmWrites))
	row("write units", cli.Thousands(d.usage.WriteUnits), cli.Thousands(r.writeUnits))
	row("cost, without the pages", dollars(price.Bill(d.usage)), dollars(r.bill(w, a)))
}
