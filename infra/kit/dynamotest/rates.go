package dynamotest

import (
	"math/rand/v2"
	"time"
)

// Rates are the shares of calls, each in [0,1], that meet a fault. Their sum
// should not exceed 1; what exceeds it never happens.
type Rates struct {
	Conflict    float64 // of writes and transactions, of reads too
	Throttle    float64
	ServerError float64
	LostReply   float64
	ApplyLate   float64 // of writes and transactions
	Unprocessed float64 // of BatchGetItem
	Cancel      float64 // of transactions: for contention on one item at least, the others say anything
	Stale       float64 // of reads, in addition to the others
	Hidden      float64 // of transactions, in addition to the others
	// HiddenFor is the longest time for which an item of a transaction is hidden.
	HiddenFor time.Duration
	// Torn are of BatchGetItem, in addition to the others, and TornBy is the longest time between its instants.
	Torn   float64
	TornBy time.Duration
	// Late is the longest delay of ApplyLate.
	Late time.Duration
}

// Seeded is a source of faults for DB.Fault. What it does to a call follows
// from the seed, the call's number and its operation alone, so one order of
// calls always meets the same faults. It may be used by several goroutines.
func (r Rates) Seeded(seed uint64) func(Call) Fault {
	return func(c Call) Fault {
		chance := rand.New(rand.NewPCG(seed, uint64(c.N)))
		f := r.draw(chance, c)
		f.Stale = chance.Float64() < r.Stale
		if c.transactional() && chance.Float64() < r.Hidden {
			f.Hidden = someOf(chance, len(c.Keys))
			f.HiddenFor = 1 + time.Duration(chance.Int64N(int64(r.HiddenFor)))
			f.ReplyDelay = f.HiddenFor
		}
		if c.Op == "BatchGetItem" && chance.Float64() < r.Torn {
			f.Torn = someOf(chance, len(c.Keys))
			f.TornBy = 1 + time.Duration(chance.Int64N(int64(r.TornBy)))
			f.Delay = f.TornBy
		}
		return f
	}
}

func (r Rates) draw(chance *rand.Rand, c Call) Fault {
	changes := c.writing() || c.batched() || c.transactional()
	reply := Reply(chance.IntN(3))
	dice := chance.Float64()
	falls := func(rate float64, possible bool) bool {
		hit := possible && dice >= 0 && dice < rate
		dice -= rate
		return hit
	}
	switch {
	case falls(r.Conflict, changes || c.cancellable()):
		return Fault{Kind: Conflict, Items: someOf(chance, len(c.Keys))}
	case falls(r.Throttle, true):
		f := Fault{Kind: Throttle, Code: reasonThrottling}
		if chance.IntN(2) == 0 {
			f.Code = reasonThroughput
		}
		if (c.cancellable() || c.batched()) && chance.IntN(3) > 0 {
			f.Items = someOf(chance, len(c.Keys))
		}
		return f
	case falls(r.ServerError, true):
		return Fault{Kind: ServerError}
	case falls(r.LostReply, true):
		return Fault{Kind: LostReply, Reply: reply}
	case falls(r.ApplyLate, changes):
		return Fault{Kind: ApplyLate, Reply: reply, After: 1 + time.Duration(chance.Int64N(int64(r.Late)))}
	case falls(r.Cancel, c.transactional()):
		return Fault{Kind: Cancel, Codes: someCodes(chance, len(c.Keys))}
	case falls(r.Unprocessed, c.Op == "BatchGetItem"):
		return Fault{Kind: Unprocessed, Items: someOf(chance, len(c.Keys))}
	}
	return Fault{}
}

// someCodes are reasons of n actions: contention in one place, anything in the
// others.
func someCodes(chance *rand.Rand, n int) []string {
	contention := []string{reasonConflict, reasonThrottling, reasonThroughput}
	anything := append([]string{"", reasonNone}, contention...)
	codes := make([]string, n)
	for i := range codes {
		codes[i] = anything[chance.IntN(len(anything))]
	}
	codes[chance.IntN(n)] = contention[chance.IntN(len(contention))]
	return codes
}

// someOf is a random, not empty set of the indexes below n.
func someOf(chance *rand.Rand, n int) []int {
	if n == 0 {
		return nil
	}
	sure := chance.IntN(n)
	var some []int
	for i := range n {
		if i == sure || chance.IntN(2) == 0 {
			some = append(some, i)
		}
	}
	return some
}
