package main

import (
	"testing"
	"time"

	"flashsale/infra/replies"
)

func TestAnswersToClicksAreJudged(t *testing.T) {
	claim := replies.Claim{ClaimID: "c", SaleID: "s", State: "PENDING"}
	for _, c := range []struct {
		name  string
		r     reply
		want  outcome
		final bool
	}{
		{"an acceptance", reply{status: 202, claim: claim}, accepted, true},
		{"an acceptance of another sale", reply{status: 202, claim: replies.Claim{ClaimID: "c", SaleID: "other", State: "PENDING"}}, wrong, true},
		{"an acceptance without a claim", reply{status: 202}, wrong, true},
		{"sold out", reply{status: 409, code: "sold-out"}, "sold-out", true},
		{"sold out with another status", reply{status: 410, code: "sold-out"}, wrong, true},
		{"already ordered", reply{status: 409, code: "already-ordered", claim: claim}, "already-ordered", true},
		{"already ordered without the claim", reply{status: 409, code: "already-ordered"}, wrong, true},
		{"closed", reply{status: 410, code: "sale-closed"}, "sale-closed", true},
		{"not open", reply{status: 403, code: "sale-not-open"}, "sale-not-open", true},
		{"busy", reply{status: 503, code: "busy"}, busy, false},
		{"paused", reply{status: 503, code: "sale-paused"}, "sale-paused", false},
		{"throttled by the gateway", reply{status: 429}, throttled, false},
		{"too many of one user", reply{status: 429, code: "too-many-requests"}, "too-many-requests", false},
		{"too many with another status", reply{status: 503, code: "too-many-requests"}, wrong, true},
		{"another code with the status of too many", reply{status: 429, code: "busy"}, wrong, true},
		{"an expired token", reply{status: 401}, "unauthorized", true},
		{"the gateway's own 503", reply{status: 503}, wrong, true},
		{"internal", reply{status: 500, code: "internal"}, wrong, true},
		{"busy with another status", reply{status: 500, code: "busy"}, wrong, true},
		{"a code that does not exist", reply{status: 409, code: "phantom"}, wrong, true},
		{"a page that has nothing to do with it", reply{status: 200}, wrong, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, final := judge("s", c.r); got != c.want || final != c.final {
				t.Errorf("%s, final %v; want %s, %v", got, final, c.want, c.final)
			}
		})
	}
}

func TestAnswersToPollsAreJudged(t *testing.T) {
	for _, c := range []struct {
		name  string
		r     reply
		want  outcome
		final bool
	}{
		{"confirmed", reply{status: 200, claim: replies.Claim{ClaimID: "c", SaleID: "s", State: "CONFIRMED", OrderID: "1"}}, confirmed, true},
		{"confirmed without an order id", reply{status: 200, claim: replies.Claim{ClaimID: "c", SaleID: "s", State: "CONFIRMED", OrderID: ""}}, wrong, true},
		{"pending", reply{status: 200, claim: replies.Claim{ClaimID: "c", SaleID: "s", State: "PENDING", OrderID: ""}}, pending, false},
		{"another sale's", reply{status: 200, claim: replies.Claim{ClaimID: "c", SaleID: "other", State: "PENDING", OrderID: ""}}, wrong, true},
		{"none", reply{status: 404, code: "order-not-found"}, noSuchItem, true},
		{"no such route", reply{status: 404}, wrong, true},
		{"busy", reply{status: 503, code: "busy"}, busy, false},
		{"throttled", reply{status: 429}, throttled, false},
		{"internal", reply{status: 500, code: "internal"}, wrong, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, final := judgeStatus("s", c.r); got != c.want || final != c.final {
				t.Errorf("%s, final %v; want %s, %v", got, final, c.want, c.final)
			}
		})
	}
}

func TestBrokenPromisesAreNoticed(t *testing.T) {
	claim := func(id string) reply { return reply{claim: replies.Claim{ClaimID: id}} }
	order := func(id, order string) reply { return reply{claim: replies.Claim{ClaimID: id, OrderID: order}} }
	for _, c := range []struct {
		name string
		tell func(*witness)
		want int
	}{
		{"the same claim again", func(w *witness) { w.clicked(1, accepted, claim("a")); w.clicked(1, accepted, claim("a")) }, 0},
		{"two claims of one buyer", func(w *witness) { w.clicked(1, accepted, claim("a")); w.clicked(1, accepted, claim("b")) }, 1},
		{"an already-ordered with another claim", func(w *witness) { w.clicked(1, accepted, claim("a")); w.clicked(1, "already-ordered", claim("b")) }, 1},
		{"one claim of two buyers", func(w *witness) { w.clicked(1, accepted, claim("a")); w.clicked(2, accepted, claim("a")) }, 1},
		{"more acceptances than units", func(w *witness) {
			for i, id := range []string{"a", "b", "c", "d"} {
				w.clicked(i, accepted, claim(id))
			}
		}, 1},
		{"an accepted order that is unknown", func(w *witness) { w.clicked(1, accepted, claim("a")); w.polled(1, noSuchItem, reply{}) }, 1},
		{"no order of somebody who has none", func(w *witness) { w.polled(1, noSuchItem, reply{}) }, 0},
		{"one order id of two buyers", func(w *witness) { w.polled(1, confirmed, order("a", "7")); w.polled(2, confirmed, order("b", "7")) }, 1},
		{"an answer that may not be", func(w *witness) { w.clicked(1, wrong, reply{status: 500}); w.polled(1, wrong, reply{status: 500}) }, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWitness(3)
			c.tell(w)
			if got := w.findings(); len(got) != c.want {
				t.Errorf("%d findings, want %d: %q", len(got), c.want, got)
			}
		})
	}
	t.Run("thousands are counted, not told", func(t *testing.T) {
		w := newWitness(0)
		for range 1000 {
			w.clicked(1, wrong, reply{})
		}
		if got := w.findings(); len(got) != mostFindings+1 || got[mostFindings] != "and 980 more" {
			t.Errorf("%d findings, the last %q", len(got), got[len(got)-1])
		}
	})
	t.Run("a repeat of an acceptance is no second one", func(t *testing.T) {
		w := newWitness(0)
		if first, second := w.clicked(1, accepted, claim("a")), w.clicked(1, accepted, claim("a")); first != accepted || second != acceptedAgain {
			t.Errorf("%s, then %s", first, second)
		}
	})
}

func TestAClientWaitsWithinBounds(t *testing.T) {
	for told, want := range map[time.Duration]time.Duration{-1: unsaidWait, 0: minWait, time.Second: time.Second, time.Hour: maxWait} {
		if got := wait(told); got != want {
			t.Errorf("told %v it waits %v, want %v", told, got, want)
		}
	}
}
