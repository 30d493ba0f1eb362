package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"flashsale/infra/kit/arguments"
	"flashsale/infra/ops/deploy/price"
)

// What a draw does. A test counts the calls and units over the in-process table.
const (
	// An entry is one item, and its write one unit. bytesOfEntry is about its size, with a user's
	// id of 36 characters.
	unitsPerEntry, bytesOfEntry = 1.0, 70.0
	// A roll is read page by page, or a part of one, which is an item of 32 bytes a leaf.
	rollPages, rollParts, bytesOfLeaf = 256.0, 1024.0, 32.0
	// A call edits the sale with its trail, completes its record, and edits and reads every shard.
	unitsPerCall = 9.0
	// readsPerTurn is what an environment that remembers nothing reads for a purchase, besides
	// the buyer's part of the roll.
	readsPerTurn = 4.0
	// checks is how often an entrant reads something of the draw: a page of the roll before the
	// dice, and the sale with its seed after them.
	checks = 2.0

	// Assumed: the busiest second has that many times the requests of the average one, and of
	// those who are called in a call so many come.
	rush, show = 10.0, 0.8
	// diceTime is the second of DrawSeconds, by default: a page of the roll is read at a random moment of it.
	diceTime = time.Hour
	// enterTime is about how long an entry takes in the function, drawTime the longest run of
	// DrawFunction, which closes a roll or makes a call, and lookTime about how long it takes to
	// see that nothing is due.
	enterTime, drawTime, lookTime = 15 * time.Millisecond, 2 * time.Minute, 50 * time.Millisecond
	// pollsOfBuyer is how often a buyer asks until the order has its id.
	pollsOfBuyer = float64(waiting / pollEvery)
)

// drawing is what a draw of the units among the users takes, in place of the rush.
type drawing struct {
	calls int // made
	// requests, environments and writes are those of the busiest second.
	requests, environments, writes float64
	entering, roll, checking       price.Usage
	calling, buying                price.Usage
	storing                        time.Duration // of the roll, at least
}

// all is the usage of the whole draw.
func (d drawing) all() (u price.Usage) {
	for _, part := range []price.Usage{d.entering, d.roll, d.checking, d.calling, d.buying} {
		u.Requests += part.Requests
		u.Invocations += part.Invocations
		u.GBSeconds += part.GBSeconds
		u.WriteUnits += part.WriteUnits
		u.ReadUnits += part.ReadUnits
		u.QueueCalls += part.QueueCalls
		u.LogBytes += part.LogBytes
		u.EdgeRequests += part.EdgeRequests
	}
	return u
}

func (w wish) checkDraw() error {
	if w.keep%time.Hour != 0 {
		return errors.New("KEEP must be whole hours")
	}
	return cmp.Or(arguments.Between("enter", w.enter, time.Minute, 90*24*time.Hour), arguments.Between("keep", w.keep, time.Hour, 7*24*time.Hour))
}

// drawnAmong returns what a draw takes. Nobody gains by being quick, so purchases spread over the
// calls, and no transactions conflict.
func drawnAmong(w wish, a advice) drawing {
	n, units := float64(w.users), float64(min(w.stock, int64(w.users)))
	gb := float64(w.memory) / 1024
	perPage := n / rollPages
	var d drawing
	for left := units; left >= 1 && d.calls < 100; left -= math.Floor(left * show) {
		if d.calls++; left < 2 {
			break
		}
	}
	d.entering = called(n, gb, enterTime)
	d.entering.WriteUnits = n * unitsPerEntry
	d.roll = price.Usage{
		Invocations: 1, GBSeconds: gb * drawTime.Seconds(), LogBytes: bytesPerLine,
		WriteUnits: rollParts*math.Ceil((n/rollParts*bytesOfLeaf+100)/1024) + 2,
		// Of each page: what is stored, before and after, and the entries.
		ReadUnits: 2 + rollPages*(1+readsOf(perPage*bytesOfEntry)+readsOf(perPage*bytesOfLeaf)),
	}
	d.storing = time.Duration(d.roll.WriteUnits / partitionWrites * float64(time.Second))
	seen := checks * n
	if w.front {
		d.checking.EdgeRequests, seen = seen, min(seen, caches*(rollPages+w.keep.Seconds()))
	}
	edge := d.checking.EdgeRequests
	d.checking = called(seen, gb, queryTime)
	d.checking.EdgeRequests = edge
	runs := math.Ceil((w.enter + diceTime + w.keep*time.Duration(d.calls)).Minutes())
	d.calling = price.Usage{
		Invocations: runs, LogBytes: runs * bytesPerLine, GBSeconds: gb * (runs*lookTime.Seconds() + float64(d.calls)*drawTime.Seconds()),
		WriteUnits: float64(d.calls) * (unitsPerCall + float64(a.shards)),
		ReadUnits:  3*runs + float64(d.calls)*(rollPages*readsOf(perPage*bytesOfLeaf)+2*float64(a.shards)+10),
	}
	d.buying = called(units, gb, purchaseTime(w))
	polls := called(units*pollsOfBuyer, gb, queryTime)
	d.buying.Requests += polls.Requests
	d.buying.Invocations += polls.Invocations + units // one for the message, too: few come at once
	d.buying.GBSeconds += polls.GBSeconds + gb*units*batchTime.Seconds()
	d.buying.LogBytes += polls.LogBytes + units*bytesPerLine
	d.buying.WriteUnits = units * (w.unitsPerTry() + unitsToConfirm)
	d.buying.ReadUnits = polls.Requests*unitsPerPoll + units*(readsPerTurn+readsOf(n/rollParts*bytesOfLeaf)/2) // not consistent, at half the cost
	d.buying.QueueCalls = 3 * units                                                                            // sent, received and deleted one by one

	entries, buyers := rush*n/w.enter.Seconds(), rush*units*show/w.keep.Seconds()
	pages, results := n/diceTime.Seconds(), rush*n/w.keep.Seconds()
	busiest := buyers*(1+pollsOfBuyer) + results // when the first call begins
	d.requests = max(entries, pages, busiest)
	environments := func(rate float64, each time.Duration) float64 { return math.Ceil(rate * each.Seconds()) }
	d.environments = 1 + max(environments(entries, enterTime), environments(pages, queryTime),
		environments(buyers, purchaseTime(w))+environments(buyers*pollsOfBuyer+results, queryTime)+environments(buyers, batchTime))
	d.writes = max(entries*unitsPerEntry, buyers*(w.unitsPerTry()+unitsToConfirm))
	return d
}

// called is what that many requests to a function use.
func called(n, gb float64, each time.Duration) price.Usage {
	return price.Usage{Requests: n, Invocations: n, GBSeconds: gb * n * each.Seconds(), LogBytes: n * bytesPerLine}
}

// readsOf is what a consistent query of that many bytes costs, in read units.
func readsOf(bytes float64) float64 { return math.Max(1, math.Ceil(bytes/4096)) }

// printDrawing prints a draw beside the rush.
func printDrawing(out io.Writer, w wish, a advice, r course) {
	d := drawnAmong(w, a)
	u := d.all()
	_, _ = fmt.Fprintf(out, "\nA draw of these units among these users, beside the rush (entering for %v, %v to buy in each call; assumed: the busiest second has %.0f times the average, %.0f %% of the called come)\n",
		w.enter, w.keep, rush, 100*show)
	row := func(what, draw, rush string) { _, _ = fmt.Fprintf(out, "  %-38s %16s %16s\n", what, draw, rush) }
	dollars := func(u price.Usage) string { return fmt.Sprintf("$%.2f", price.Sum(price.Bill(u))) }
	counted := map[string]float64{}
	for _, line := range bill(w, a, r) {
		counted[line.Unit] += line.Counted
	}
	row("", "draw", "rush")
	row("requests in the busiest second", grouped(math.Ceil(d.requests)), grouped(r.busiest))
	row("environments at once", grouped(d.environments), "up to "+grouped(float64(a.concurrency)))
	row("write units in the busiest second", grouped(math.Ceil(d.writes)), "up to "+grouped(float64(a.warmWrites)))
	row("requests", grouped(u.Requests), grouped(counted["requests"]))
	row("write units", grouped(u.WriteUnits), grouped(r.writeUnits))
	row("read units", grouped(u.ReadUnits), grouped(counted["read units"]))
	row("cost, without the pages", dollars(u), fmt.Sprintf("$%.2f", price.Sum(bill(w, a, r))))
	for _, part := range []struct {
		what  string
		usage price.Usage
	}{
		{fmt.Sprintf("  %s entries", grouped(float64(w.users))), d.entering}, {"  the roll", d.roll},
		{fmt.Sprintf("  %s looks at roll and seed", grouped(checks*float64(w.users))), d.checking},
		{fmt.Sprintf("  %d calls", d.calls), d.calling}, {fmt.Sprintf("  %s orders", grouped(float64(min(w.stock, int64(w.users))))), d.buying},
	} {
		row(part.what, dollars(part.usage), "-")
	}
	_, _ = fmt.Fprintf(out, "  Storing the roll takes at least %v, because its pages have one partition key (%s write units a second); nobody waits for it.\n",
		max(d.storing.Round(time.Second), time.Second), grouped(partitionWrites))
}

// drawPlan are the figures of a draw, and of the rush the one that it has beside them.
type drawPlan struct {
	Calls                 int     `json:"calls"`
	RequestsPerSecond     float64 `json:"requestsPerSecond"` // in the busiest second, as RushRequestsPerSecond
	Environments          float64 `json:"environments"`      // at once, as RushEnvironments
	WriteUnits            float64 `json:"writeUnits"`
	ReadUnits             float64 `json:"readUnits"`
	Dollars               float64 `json:"dollars"`
	RushRequestsPerSecond float64 `json:"rushRequestsPerSecond"`
	RushEnvironments      int     `json:"rushEnvironments"` // at most
}

func drawSummary(w wish, a advice, r course) *drawPlan {
	d := drawnAmong(w, a)
	u := d.all()
	return &drawPlan{
		Calls: d.calls, RequestsPerSecond: rounded(d.requests, 10), Environments: d.environments, WriteUnits: rounded(u.WriteUnits, 1),
		ReadUnits: rounded(u.ReadUnits, 1), Dollars: rounded(price.Sum(price.Bill(u)), 100),
		RushRequestsPerSecond: rounded(r.busiest, 1), RushEnvironments: a.concurrency,
	}
}
