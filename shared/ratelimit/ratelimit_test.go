package ratelimit

import (
	"fmt"
	"testing"
	"time"

	"flashsale/shared/sale"
)

// flood sends n requests of a user at once and returns how many were admitted.
func flood(l *Limit, user string, n int, now time.Time) (admitted int) {
	for range n {
		if l.Allow(user, now) == nil {
			admitted++
		}
	}
	return admitted
}

func TestAUserSendsABurstAndThenTwoRequestsASecond(t *testing.T) {
	l, now := New(), time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)
	if got := flood(l, "alice", 1000, now); got != Burst {
		t.Errorf("%d admitted at once, want %d", got, Burst)
	}
	if got := flood(l, "bob", 1, now); got != 1 {
		t.Error("one user's flood stops another")
	}
	if err := l.Allow("alice", now.Add(Interval-1)); sale.CodeOf(err) != sale.TooManyRequests {
		t.Errorf("before the interval is over: %v", err)
	}
	// Refused requests never cost tokens.
	got := 0
	for ms := range 10_000 {
		if l.Allow("alice", now.Add(time.Duration(ms+1)*time.Millisecond)) == nil {
			got++
		}
	}
	if got != 20 {
		t.Errorf("%d of 10,000 requests in 10 s were admitted, want 20", got)
	}
	now = now.Add(time.Hour)
	if got := flood(l, "alice", 1000, now); got != Burst {
		t.Errorf("%d admitted an hour later, want %d and no more", got, Burst)
	}
}

// Also that of an environment which was frozen, or whose clock has stepped back.
func TestAUsersBucketAgesByTheWallClock(t *testing.T) {
	for _, leap := range []time.Duration{20 * time.Minute, -time.Hour} {
		l, now := New(), time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)
		flood(l, "alice", 1000, now)
		if got := flood(l, "alice", 1000, now.Add(leap)); got != Burst {
			t.Errorf("%d admitted after %v, want a full bucket of %d", got, leap, Burst)
		}
	}
}

func TestTheUsersWhoAreRememberedAreBounded(t *testing.T) {
	l, now := New(), time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)
	flood(l, "first", 1000, now)
	for i := range maxUsers - 1 {
		flood(l, fmt.Sprint("user-", i), 2, now) // the second takes no further place
	}
	if l.Allow("first", now) == nil {
		t.Error("forgotten while there was room")
	}
	for i := range 2 * maxUsers {
		_ = l.Allow(fmt.Sprint("later-", i), now)
	}
	if l.Allow("first", now) != nil {
		t.Error("remembered after as many others as there is room for")
	}
}
