package clock_test

import (
	"testing"
	"time"

	"flashsale/shared/clock"
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
