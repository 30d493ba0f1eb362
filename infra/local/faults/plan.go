package faults

import (
	"math/rand/v2"
	"time"
)

// The kinds of faults, as named by Counts.
const (
	kindConflict   = "conflict"
	kindInFlight   = "inflight"
	kindThrottle   = "throttle"
	kindError      = "error"
	kindLost       = "lost"
	kindLate       = "late"
	kindSendFailed = "send-failed"
	kindSendLost   = "send-lost"
)

// plan is what is to happen to one call.
type plan struct {
	kind string        // "" for nothing
	wait time.Duration // before anything else
	late time.Duration // delay of a late call
	// some are the indexes of the transaction's actions that cause the cancellation.
	some []int
	// variant chooses between two forms of the same refusal.
	variant bool
}

// plan decides what happens to the n-th call. The decision depends only on the seed,
// the number and the kind of call.
func (c Config) plan(n uint64, call call) plan {
	chance := rand.New(rand.NewPCG(c.Seed, n))
	p := plan{
		wait: randomUpTo(chance, c.Latency), late: randomUpTo(chance, c.LateBy),
		some: randomSubset(chance, len(call.items)), variant: chance.IntN(2) == 0,
	}
	p.kind = c.draw(chance.Float64(), call, p.variant)
	return p
}

// draw returns the kind of fault at a point of [0,1). Every kind has its own interval,
// even if the call cannot have the fault, so that shares are exact.
func (c Config) draw(point float64, call call, variant bool) string {
	falls := func(share float64, possible bool) bool {
		hit := possible && point >= 0 && point < share
		point -= share
		return hit
	}
	switch call.class {
	case untouched, queueing:
		return ""
	case sending:
		switch {
		case !falls(c.Send, true):
			return ""
		case variant:
			return kindSendFailed
		default:
			return kindSendLost
		}
	}
	switch {
	case falls(c.Conflict, call.conflicts()):
		return kindConflict
	case falls(c.Throttle, true):
		return kindThrottle
	case falls(c.Error, true):
		return kindError
	case falls(c.Lost, true):
		return kindLost
	case falls(c.Late, call.writes()):
		return kindLate
	}
	return ""
}

func randomUpTo(chance *rand.Rand, most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	return time.Duration(chance.Int64N(int64(most)))
}

// randomSubset is a random, not empty set of the indexes below n.
func randomSubset(chance *rand.Rand, n int) []int {
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
