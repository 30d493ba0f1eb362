package eligibility

import (
	"testing"
	"time"
)

// The pause is that of a random number, spread by a quarter, and is over for an environment that was frozen, or whose
// wall clock has stepped back.
func TestEveryFailedProbeDoublesThePauseUpToItsLimit(t *testing.T) {
	const timeout = 300 * time.Millisecond
	for random, spread := range map[float64]float64{0: 0.75, 0.5: 1} {
		b, now := newBreaker(func() float64 { return random }), time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)
		for range maxFailures {
			if !b.enter(now, timeout) {
				t.Fatal("open before there are enough failures in a row")
			}
			b.fail(now)
		}
		for i, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second} {
			b.fail(now) // of a call from before the breaker opened
			pause = time.Duration(spread * float64(pause))
			if !b.isOpen(now) || !b.isOpen(now.Add(pause-1)) || b.isOpen(now.Add(pause)) || b.isOpen(now.Add(20*time.Minute)) || b.isOpen(now.Add(-1)) {
				t.Errorf("pause %d is not %s", i+1, pause)
			}
			now = now.Add(pause)
			if !b.enter(now, timeout) || b.enter(now, timeout) || b.enter(now.Add(timeout-1), timeout) {
				t.Errorf("after pause %d it is not one that tries", i+1)
			}
			if now = now.Add(timeout); !b.enter(now, timeout) { // nothing is known of the one before
				t.Errorf("after pause %d nobody tries again", i+1)
			}
			b.fail(now)
		}
		b.enter(now.Add(longestPause), timeout)
		if b.succeed(); b.isOpen(now.Add(longestPause)) || b.isOpen(now) {
			t.Error("open, though a call has succeeded since")
		}
	}
}
