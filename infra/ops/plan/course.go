package plan

import (
	"math"
	"time"

	"flashsale/infra/ops/deploy/price"
)

const (
	// sharedKeys is the part of the table's write units that a rush gets while its busy keys share
	// partitions. A simulation of the real functions had 0.7 to 0.8, by the hashes of the keys.
	sharedKeys = 0.75
	// inVain is how many transactions find an empty shard or meet one that is being emptied, for each
	// other one.
	inVain = 0.5
	// busyAgain is about when a buyer comes again who was told "busy", in seconds.
	busyAgain = 3.0
	// refusalTime is about how long "sold out" takes in the function.
	refusalTime = 12 * time.Millisecond
	// perCall is how many messages the event source receives, or deletes, in one call.
	perCall = 10
	// pollsOfBuyer is how often a winner asks until the order has its id, each time by a
	// consistent read of the claim.
	pollsOfBuyer = float64(waiting / pollEvery)
	bytesPerLine = 700 // of a function's log
	// warmBefore and warmAfter are how long before and after the opening the
	// environments are provisioned.
	warmBefore, warmAfter = 10 * time.Minute, 5 * time.Minute
)

type course struct {
	orders, left int64
	soldOut      time.Duration // since the opening; 0 if units are left
	perSecond    float64       // orders, while units are left
	conflictRate float64       // share of the transactions
	transactions float64
	busy         float64 // requests that are told "busy"
	requests     float64 // for a purchase
	writeUnits   float64
}

// expect: people come at a rate that falls exponentially from the peak. The last unit is sold when as
// many have come and the slowest of shards, claim buckets and table has taken as many.
func expect(w wish, a advice) course {
	people, stock, span := float64(w.users), float64(w.orders()), float64(w.users)/w.peak
	r := course{orders: min(w.orders(), int64(w.users)), perSecond: min(a.ofShards, a.ofBuckets, sharedKeys*a.ofTable)}
	r.left = max(0, w.stock-r.orders*w.maxPerOrder)
	if r.left == 0 {
		come := span * math.Log(2*people) // all of them, but for half a person
		if stock < people {
			come = -span * math.Log(1-stock/people)
		}
		seconds := max(stock/r.perSecond, come)
		r.soldOut = time.Duration(seconds*float64(time.Second)) + w.purchaseTime()
		r.perSecond = stock / r.soldOut.Seconds()
		// Whoever has come and got nothing yet comes again and again until then.
		r.busy = max(0, people*(1-math.Exp(-seconds/span))-stock) * (1 + seconds/2/busyAgain)
	}
	r.requests = people + r.busy
	// A shard that is busy for the window after each order rejects that share of what comes at random.
	r.conflictRate = min(busyLoad, r.perSecond/float64(a.shards)*w.window().Seconds())
	r.transactions = (1 + inVain) * float64(r.orders) / (1 - r.conflictRate)
	r.writeUnits = r.transactions*w.unitsPerTry() + float64(r.orders)*unitsToConfirm
	return r
}

// bill prices the sale, without the pages and what is billed besides.
func (r course) bill(w wish, a advice) []price.Line {
	const gb = price.Memory / 1024.0
	orders, polls := float64(r.orders), pollsOfBuyer*float64(r.orders)
	batches := math.Ceil(orders / batch)
	invocations := r.requests + polls + batches
	return price.Bill(price.Usage{
		Requests: r.requests + polls, Invocations: invocations,
		GBSeconds:     gb * (polls*queryTime.Seconds() + batches*batchTime.Seconds()),
		WarmGBSeconds: gb * ((orders+r.busy)*w.purchaseTime().Seconds() + (r.requests-orders-r.busy)*refusalTime.Seconds()),
		HeldGBSeconds: gb * float64(a.provisioned) * (warmBefore + warmAfter).Seconds(),
		WriteUnits:    r.writeUnits,
		ReadUnits:     r.requests + polls,
		QueueCalls:    math.Ceil(orders * (1 + 2.0/perCall)),
		LogBytes:      bytesPerLine * invocations,
	})
}
