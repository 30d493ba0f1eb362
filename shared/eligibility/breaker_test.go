package eligibility

import (
	"testing"
	"time"
)

var start = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

// steady returns a breaker without spread.
func steady() *breaker { return newBreaker(func() float64 { return 0.5 }) }

// fail makes n calls fail in sequence at now.
func fail(t *testing.T, b *breaker, n int, now time.Time) {
	t.Helper()
	for i := range n {
		state, ok := b.enter(now)
		if !ok {
			t.Fatalf("call %d may not enter", i)
		}
		b.fail(state, now)
	}
}

func TestAClockThatStepsBackBringsNoPauseBackThatASuccessHasEnded(t *testing.T) {
	b := steady()
	fail(t, b, maxFailures, start)
	state, ok := b.enter(start.Add(firstPause))
	if !ok {
		t.Fatal("nobody may try")
	}
	b.succeed(state, start.Add(firstPause))
	if b.isOpen(start.Add(firstPause / 2)) {
		t.Error("open, though a call has succeeded since")
	}
}

func TestEveryFailedTryDoublesThePauseUpToItsLimit(t *testing.T) {
	b, now := steady(), start
	fail(t, b, maxFailures, now)
	for i, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second} {
		if b.isOpen(now.Add(pause)) || !b.isOpen(now.Add(pause-1)) {
			t.Errorf("pause %d is not %s", i+1, pause)
		}
		now = now.Add(pause)
		fail(t, b, 1, now)
	}
}

func TestPausesAreSpreadByAQuarter(t *testing.T) {
	for random, pause := range map[float64]time.Duration{0: 750 * time.Millisecond, 0.999999: 1249999500 * time.Nanosecond} {
		b := newBreaker(func() float64 { return random })
		fail(t, b, maxFailures, start)
		if b.isOpen(start.Add(pause)) || !b.isOpen(start.Add(pause-time.Microsecond)) {
			t.Errorf("the pause is not %s", pause)
		}
	}
}

func TestACallFromBeforeTheBreakerOpenedIsNoNews(t *testing.T) {
	for name, end := range map[string]func(*breaker, int, time.Time){
		"failed": (*breaker).fail, "succeeded": (*breaker).succeed, "abandoned": (*breaker).abandon,
	} {
		b := steady()
		early, _ := b.enter(start)
		fail(t, b, maxFailures, start)
		end(b, early, start)
		if !b.isOpen(start) {
			t.Errorf("%s: it closed the breaker", name)
		}
		now := start.Add(firstPause)
		try, ok := b.enter(now)
		if !ok {
			t.Fatalf("%s: it lengthened the pause", name)
		}
		end(b, early, now)
		if !b.isOpen(now) {
			t.Errorf("%s: it took the place of the one that tries", name)
		}
		b.succeed(try, now)
		if b.isOpen(now) {
			t.Errorf("%s: the one that tries no longer counts", name)
		}
	}
}

func TestATryThatWasAbandonedLeavesItToTheNext(t *testing.T) {
	b := steady()
	fail(t, b, maxFailures, start)
	now := start.Add(firstPause)
	state, _ := b.enter(now)
	b.abandon(state, now)
	again, ok := b.enter(now)
	if !ok {
		t.Fatal("nobody else may try")
	}
	b.fail(state, now)
	if _, third := b.enter(now); third {
		t.Error("the end of the abandoned call makes room for a third")
	}
	b.succeed(again, now)
	if b.isOpen(now) {
		t.Error("the second try does not close the breaker")
	}
}
