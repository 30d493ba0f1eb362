package handler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/shared/clock/clocktest"
	"flashsale/shared/sale"
)

// flood sends n requests of a user at once and returns how many were admitted.
func flood(c *callers, user string, n int, now time.Time) (admitted int) {
	for range n {
		if c.admit(user, now) {
			admitted++
		}
	}
	return admitted
}

func TestAUserSendsABurstAndThenTwoRequestsASecond(t *testing.T) {
	c, now := newCallers(), time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)
	if got := flood(c, "alice", 1000, now); got != callerBurst {
		t.Errorf("%d admitted at once, want %d", got, callerBurst)
	}
	if got := flood(c, "bob", 1, now); got != 1 {
		t.Error("one user's flood stops another")
	}
	if c.admit("alice", now.Add(callerInterval-1)) {
		t.Error("admitted before the interval is over")
	}
	// Refused requests never cost tokens.
	got := 0
	for ms := range 10_000 {
		if c.admit("alice", now.Add(time.Duration(ms+1)*time.Millisecond)) {
			got++
		}
	}
	if got != 20 {
		t.Errorf("%d of 10,000 requests in 10 s were admitted, want 20", got)
	}
	now = now.Add(time.Hour)
	if got := flood(c, "alice", 1000, now); got != callerBurst {
		t.Errorf("%d admitted an hour later, want %d and no more", got, callerBurst)
	}
}

func TestABuyerWhoDoesAsTheAnswersSayNeverMeetsTheLimit(t *testing.T) {
	c, now := newCallers(), time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)
	for range 3600 { // an hour of double clicks, a second apart: the shortest Retry-After
		if flood(c, "alice", 2, now) != 2 {
			t.Fatal("refused")
		}
		now = now.Add(time.Second)
	}
}

func TestAUsersBucketAgesByTheWallClock(t *testing.T) {
	for name, leap := range map[string]func(*clocktest.Environment){
		"frozen for 20 minutes":           func(e *clocktest.Environment) { e.Freeze(20 * time.Minute) },
		"its wall clock has stepped back": func(e *clocktest.Environment) { e.StepBack(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			c, environment := newCallers(), clocktest.New()
			flood(c, "alice", 1000, environment.Wall())
			leap(environment)
			if got := flood(c, "alice", 1000, environment.Wall()); got != callerBurst {
				t.Errorf("%d admitted, want a full bucket of %d", got, callerBurst)
			}
		})
	}
}

func TestTheUsersWhoAreRememberedAreBounded(t *testing.T) {
	c, now := newCallers(), time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)
	flood(c, "first", 1000, now)
	for i := range maxCallers - 1 {
		flood(c, fmt.Sprint("user-", i), 2, now) // the second takes no further place
	}
	if c.admit("first", now) {
		t.Error("forgotten while there was room")
	}
	for i := range 2 * maxCallers {
		c.admit(fmt.Sprint("later-", i), now)
	}
	if !c.admit("first", now) {
		t.Error("remembered after as many others as there is room for")
	}
}

func TestTheIDOfAUserIsKeptWithoutItsRequest(t *testing.T) {
	c, now := newCallers(), time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)
	event := strings.Repeat("x", 1000) + "alice"
	c.admit(event[1000:], now)
	if got := testing.AllocsPerRun(100, func() { c.admit("alice", now) }); got != 0 {
		t.Errorf("%v allocations for a known user, want none", got)
	}
	if c.admit("alice", now) {
		t.Error("not refused after 100 requests")
	}
}

func TestTooManyRequestsOfAUserAreRefusedBeforeAnythingIsReadOrWritten(t *testing.T) {
	f := newFunction(t)
	check := &verdict{admitted: true}
	f.handler.Checking(check)
	first := f.invoke(t, t.Context(), event(t, "purchase.json", header("idempotency-key", "k1")))
	isAccepted(t, first)
	for range callerBurst - 1 {
		f.invoke(t, t.Context(), event(t, "purchase.json"))
	}
	requests, asked, sent := len(f.requests), check.asked, len(f.queue.sent)
	for range 50 {
		r := f.invoke(t, t.Context(), event(t, "purchase.json", header("idempotency-key", "k1")))
		body := refused(t, r, 429, sale.TooManyRequests)
		if body["order"] != "/sales/moutai/orders/me" || body["claim"] != nil {
			t.Errorf("body %v", body)
		}
		if wait := r.Headers.RetryAfter; wait != "1" && wait != "2" && wait != "3" {
			t.Errorf("Retry-After %q, want 1 to 3 seconds", wait)
		}
		if got := f.Logged(t, "result"); got != "too-many-requests" {
			t.Errorf("counted as %v", got)
		}
	}
	if len(f.requests) != requests || check.asked != asked || len(f.queue.sent) != sent {
		t.Errorf("refused requests reached the ledger %d times, the check %d times, the queue %d times",
			len(f.requests)-requests, check.asked-asked, len(f.queue.sent)-sent)
	}
	if r := f.invoke(t, t.Context(), event(t, "purchase.json", user("bob"))); r.StatusCode != 202 {
		t.Errorf("another user is told %d", r.StatusCode)
	}
	// A repeat after Retry-After gets the answer that was lost (P5, P9).
	f.now = f.now.Add(time.Second)
	again := f.invoke(t, t.Context(), event(t, "purchase.json", header("idempotency-key", "k1")))
	if again.StatusCode != 202 || again.Body != first.Body {
		t.Errorf("the repeat is answered %d %s, want %s", again.StatusCode, again.Body, first.Body)
	}
}
