package clock_test

import (
	"testing"
	"time"

	"flashsale/shared/clock"
	"flashsale/shared/clock/clocktest"
)

func TestTheWallClockGivesNoMonotonicReading(t *testing.T) {
	before := time.Now()
	now := clock.Wall()
	if now != now.Round(0) {
		t.Errorf("%v has a monotonic reading", now)
	}
	if now.Location() != time.UTC {
		t.Errorf("%v is not in UTC", now)
	}
	if after := time.Now(); now.Before(before.Round(0)) || now.After(after.Round(0)) {
		t.Errorf("%v is not between %v and %v", now, before, after)
	}
}

func TestAgesByTheWallClockGoOnWhileTheEnvironmentIsFrozen(t *testing.T) {
	e := clocktest.New()
	raw, wall := e.Now(), e.Wall()
	e.Pass(time.Second)
	e.Freeze(20 * time.Minute)
	e.Pass(time.Second)
	if got := e.Now().Sub(raw); got != 2*time.Second {
		t.Errorf("by the monotonic clock %v have passed, want 2 s: the environment is not frozen", got)
	}
	if got := e.Wall().Sub(wall); got != 20*time.Minute+2*time.Second {
		t.Errorf("by the wall clock %v have passed, want 20 minutes and 2 s", got)
	}
	e.StepBack(time.Hour)
	if got := e.Now().Sub(raw); got != 2*time.Second {
		t.Errorf("by the monotonic clock %v have passed, want 2 s: stepping back must not move it", got)
	}
	if got := e.Wall().Sub(wall); got != -40*time.Minute+2*time.Second {
		t.Errorf("by the wall clock %v have passed, want -40 minutes and 2 s", got)
	}
}
