package main

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
	// refusedAgain and busyAgain are about when a buyer comes again whom the throttle refused, or who was
	// told "busy", in seconds.
	refusedAgain, busyAgain = 1.5, 3.0
	// refusalTime is about how long "sold out" takes in the function.
	refusalTime = 12 * time.Millisecond
	// perCall is how many messages the event source receives, or deletes, in one call.
	perCall = 10
)

// course is what is expected of the sale.
type course struct {
	orders, left int64
	soldOut      time.Duration // since the opening; 0 if units are left
	perSecond    float64       // orders, while units are left
	conflictRate float64       // share of the transactions
	// refused are requests that the API's throttle refuses, and busy those that are told "busy".
	refused, busy float64
	// requests are those for a purchase that reach the function, and polls the winners'.
	requests, polls float64
	busiest         float64 // most requests a second
	transactions    float64
	writeUnits      float64
}

// expect follows the sale in steps: people come at a rate that falls exponentially from the peak, whoever
// is not served comes again, and orders are accepted at the lowest rate of shards, claim buckets and table.
func expect(w wish, a advice) course {
	people, left := float64(w.users), float64(w.stock)
	r := course{orders: min(w.stock, int64(w.users))}
	r.left = w.stock - r.orders
	rate := min(a.rates.busy, a.rates.buckets, sharedKeys*a.rates.table)
	span := people / w.peak
	step := max(0.1, span/10_000)
	again := make([]float64, int(busyAgain/step)+2) // who comes again, by the step
	later := func(now int, after float64) *float64 {
		return &again[(now+max(1, int(math.Round(after/step))))%len(again)]
	}
	came, waiting := 0.0, 0.0
	for i := 0; came < people-0.5 || waiting > 0.5; i++ {
		until := people * (1 - math.Exp(-float64(i+1)*step/span))
		back := &again[i%len(again)]
		here := until - came + *back
		came, waiting, *back = until, waiting-*back, 0
		r.busiest = max(r.busiest, here/step)
		admitted := min(here, a.throttle*step)
		r.refused += here - admitted
		*later(i, refusedAgain) += here - admitted
		waiting += here - admitted
		r.requests += admitted
		if r.soldOut > 0 {
			continue
		}
		most := min(admitted, rate*step)
		if left > most {
			left -= most
			r.busy += admitted - most
			*later(i, busyAgain) += admitted - most
			waiting += admitted - most
			continue
		}
		r.soldOut = time.Duration((float64(i)+left/most)*step*float64(time.Second)) + purchaseTime(w)
	}
	if r.left == 0 && r.soldOut == 0 { // as many units as people: for the last one
		r.soldOut = time.Duration(span * math.Log(2*people) * float64(time.Second))
	}
	r.perSecond = rate
	if r.soldOut > 0 {
		r.perSecond = float64(r.orders) / r.soldOut.Seconds()
	}
	// A shard that is busy for the window after each order rejects that share of what comes at random.
	r.conflictRate = min(busyLoad, r.perSecond/float64(a.shards)*w.window.Seconds())
	r.transactions = (1 + inVain) * float64(r.orders) / (1 - r.conflictRate)
	r.writeUnits = r.transactions*w.unitsPerTry() + float64(r.orders)*unitsToConfirm
	r.polls = pollsOfBuyer * float64(r.orders)
	return r
}

// bill prices the sale, without the pages and without what printOther names.
func bill(w wish, a advice, r course) []price.Line {
	gb, orders := float64(w.memory)/1024, float64(r.orders)
	batches := math.Ceil(orders / batch)
	purchases := (orders+r.busy)*purchaseTime(w).Seconds() + (r.requests-orders-r.busy)*refusalTime.Seconds()
	invocations := r.requests + r.polls + batches
	u := price.Usage{
		// API Gateway does not bill what its own throttle refuses.
		Requests: r.requests + r.polls, Invocations: invocations,
		GBSeconds:     gb * (r.polls*queryTime.Seconds() + batches*batchTime.Seconds()),
		WarmGBSeconds: gb * purchases,
		HeldGBSeconds: gb * float64(a.provisioned) * (warmBefore + warmAfter).Seconds(),
		WriteUnits:    r.writeUnits,
		ReadUnits:     r.requests + unitsPerPoll*r.polls,
		QueueCalls:    math.Ceil(orders * (1 + 2.0/perCall)),
		LogBytes:      bytesPerLine * invocations,
	}
	return price.Bill(u)
}
