package eligibility

import (
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// maxFailures in a row open the breaker.
	maxFailures = 5
	// firstPause and longestPause bound how long it stays open before one probe:
	// doubled after every failed probe, and spread by ±25 %, because every environment
	// has its own breaker and all of them open at the same moment.
	firstPause   = time.Second
	longestPause = 4 * time.Second
)

// breaker is a circuit breaker. It is closed while calls succeed, open after too many
// failures in a row, and half open once the pause is over: then one call at a time is
// let through.
type breaker struct {
	random func() float64

	mu       sync.Mutex
	failures int           // in a row
	pause    time.Duration // the latest one; 0 while closed
	since    time.Time     // when the last pause, or the probe after it, began
	lasts    time.Duration // how long that keeps calls out
	probing  bool          // it is a probe
}

func newBreaker(random func() float64) *breaker {
	if random == nil {
		random = rand.Float64
	}
	return &breaker{random: random}
}

// isOpen reports whether enter would refuse a call at now.
func (b *breaker) isOpen(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.shut(now)
}

func (b *breaker) shut(now time.Time) bool {
	passed := now.Sub(b.since) // negative after the wall clock has stepped back: ignore the pause
	return b.pause > 0 && 0 <= passed && passed < b.lasts
}

// enter reports whether a call may be made at now. A probe keeps others out until it succeeds or fails, at
// most for its timeout.
func (b *breaker) enter(now time.Time, timeout time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shut(now) {
		return false
	}
	if b.pause > 0 {
		b.since, b.lasts, b.probing = now, timeout, true
	}
	return true
}

// succeed records that a call was answered.
func (b *breaker) succeed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures, b.pause = 0, 0
}

// fail records that a call failed.
func (b *breaker) fail(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shut(now) && !b.probing {
		return // the call began before the breaker opened
	}
	if b.failures++; b.failures < maxFailures {
		return
	}
	b.pause = min(max(2*b.pause, firstPause), longestPause)
	b.since, b.lasts, b.probing = now, time.Duration((0.75+0.5*b.random())*float64(b.pause)), false
}
