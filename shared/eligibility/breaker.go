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
	state    int           // rises whenever it opens, closes or lets a probe through
	failures int           // in a row
	pause    time.Duration // the latest one; 0 while closed
	since    time.Time     // when the last pause began
	spread   time.Duration // how long it lasts in this environment
	probing  bool          // the probe is under way
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
	return b.pause > 0 && (b.probing || 0 <= passed && passed < b.spread)
}

// enter asks for permission to call at now. The caller must report the outcome with
// the returned state; outcomes from an earlier state are ignored.
func (b *breaker) enter(now time.Time) (state int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shut(now) {
		return 0, false
	}
	if b.pause > 0 {
		b.probing = true
		b.state++
	}
	return b.state, true
}

// succeed records that a call was answered.
func (b *breaker) succeed(state int, _ time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if state != b.state {
		return
	}
	b.failures = 0
	if b.pause > 0 {
		b.pause, b.probing = 0, false
		b.state++
	}
}

// fail records that a call failed.
func (b *breaker) fail(state int, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if state != b.state {
		return
	}
	if b.failures++; b.pause == 0 && b.failures < maxFailures {
		return
	}
	b.pause = min(max(2*b.pause, firstPause), longestPause)
	b.since, b.spread = now, time.Duration((0.75+0.5*b.random())*float64(b.pause))
	b.probing = false
	b.state++
}

// abandon records that a call ended without saying anything about the service.
func (b *breaker) abandon(state int, _ time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if state == b.state {
		b.probing = false
	}
}
