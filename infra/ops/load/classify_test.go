package main

import (
	"testing"
	"time"

	"flashsale/infra/kit/client"
)

func TestAnswersToClicksAreJudged(t *testing.T) {
	claim := client.Claim{ClaimID: "c", SaleID: "s", State: "PENDING"}
	for _, c := range []struct {
		name  string
		r     client.Answer
		want  outcome
		final bool
	}{
		{"an acceptance", client.Answer{Status: 202, Claim: claim}, accepted, true},
		{"an acceptance of another sale", client.Answer{Status: 202, Claim: client.Claim{ClaimID: "c", SaleID: "other", State: "PENDING"}}, wrong, true},
		{"an acceptance without a claim", client.Answer{Status: 202}, wrong, true},
		{"sold out", client.Answer{Status: 409, Code: "sold-out"}, "sold-out", true},
		{"sold out with another status", client.Answer{Status: 410, Code: "sold-out"}, wrong, true},
		{"already ordered", client.Answer{Status: 409, Code: "already-ordered", Claim: claim}, "already-ordered", true},
		{"already ordered without the claim", client.Answer{Status: 409, Code: "already-ordered"}, wrong, true},
		{"closed", client.Answer{Status: 410, Code: "sale-closed"}, "sale-closed", true},
		{"not open", client.Answer{Status: 403, Code: "sale-not-open"}, "sale-not-open", true},
		{"busy", client.Answer{Status: 503, Code: "busy"}, busy, false},
		{"a later release's code", client.Answer{Status: 503, Code: "resting"}, "resting", false},
		{"paused", client.Answer{Status: 503, Code: "sale-paused"}, "sale-paused", false},
		{"throttled by API Gateway", client.Answer{Status: 429}, throttled, false},
		{"too many requests of one user", client.Answer{Status: 429, Code: "too-many-requests"}, "too-many-requests", false},
		{"too many requests with another status", client.Answer{Status: 503, Code: "too-many-requests"}, wrong, true},
		{"another code with the status of too many requests", client.Answer{Status: 429, Code: "busy"}, wrong, true},
		{"an expired token", client.Answer{Status: 401}, "unauthorized", true},
		{"API Gateway's 503", client.Answer{Status: 503}, wrong, true},
		{"internal", client.Answer{Status: 500, Code: "internal"}, wrong, true},
		{"busy with another status", client.Answer{Status: 500, Code: "busy"}, wrong, true},
		{"an unknown code", client.Answer{Status: 409, Code: "phantom"}, wrong, true},
		{"a status that the contract does not have", client.Answer{Status: 200}, wrong, true},
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
		r     client.Answer
		want  outcome
		final bool
	}{
		{"confirmed", client.Answer{Status: 200, Claim: client.Claim{ClaimID: "c", SaleID: "s", State: "CONFIRMED", OrderID: "1"}}, confirmed, true},
		{"a later release's state", client.Answer{Status: 200, Claim: client.Claim{ClaimID: "c", SaleID: "s", State: "SHIPPED", OrderID: "1"}}, confirmed, true},
		{"pending with an order id", client.Answer{Status: 200, Claim: client.Claim{ClaimID: "c", SaleID: "s", State: "PENDING", OrderID: "1"}}, wrong, true},
		{"confirmed without an order id", client.Answer{Status: 200, Claim: client.Claim{ClaimID: "c", SaleID: "s", State: "CONFIRMED", OrderID: ""}}, wrong, true},
		{"pending", client.Answer{Status: 200, Claim: client.Claim{ClaimID: "c", SaleID: "s", State: "PENDING", OrderID: ""}}, pending, false},
		{"another sale's", client.Answer{Status: 200, Claim: client.Claim{ClaimID: "c", SaleID: "other", State: "PENDING", OrderID: ""}}, wrong, true},
		{"none", client.Answer{Status: 404, Code: "order-not-found"}, noSuchItem, true},
		{"no such route", client.Answer{Status: 404}, wrong, true},
		{"busy", client.Answer{Status: 503, Code: "busy"}, busy, false},
		{"throttled", client.Answer{Status: 429}, throttled, false},
		{"internal", client.Answer{Status: 500, Code: "internal"}, wrong, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, final := judgeStatus("s", c.r); got != c.want || final != c.final {
				t.Errorf("%s, final %v; want %s, %v", got, final, c.want, c.final)
			}
		})
	}
}

func TestBrokenPromisesAreNoticed(t *testing.T) {
	claim := func(id string) client.Answer { return client.Answer{Claim: client.Claim{ClaimID: id}} }
	order := func(id, order string) client.Answer {
		return client.Answer{Claim: client.Claim{ClaimID: id, OrderID: order}}
	}
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
		{"an accepted order that is unknown", func(w *witness) { w.clicked(1, accepted, claim("a")); w.polled(1, noSuchItem, client.Answer{}) }, 1},
		{"no order for a buyer without one", func(w *witness) { w.polled(1, noSuchItem, client.Answer{}) }, 0},
		{"one order id of two buyers", func(w *witness) { w.polled(1, confirmed, order("a", "7")); w.polled(2, confirmed, order("b", "7")) }, 1},
		{"an answer outside the contract", func(w *witness) {
			w.clicked(1, wrong, client.Answer{Status: 500})
			w.polled(1, wrong, client.Answer{Status: 500})
		}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWitness(3)
			c.tell(w)
			if got := w.findings(); len(got) != c.want {
				t.Errorf("%d findings, want %d: %q", len(got), c.want, got)
			}
		})
	}
	t.Run("beyond the bound findings are only counted", func(t *testing.T) {
		w := newWitness(0)
		for range 1000 {
			w.clicked(1, wrong, client.Answer{})
		}
		if got := w.findings(); len(got) != mostFindings+1 || got[mostFindings] != "and 980 more" {
			t.Errorf("%d findings, the last %q", len(got), got[len(got)-1])
		}
	})
	t.Run("a repeated acceptance is not a second one", func(t *testing.T) {
		w := newWitness(0)
		if first, second := w.clicked(1, accepted, claim("a")), w.clicked(1, accepted, claim("a")); first != accepted || second != acceptedAgain {
			t.Errorf("%s, then %s", first, second)
		}
	})
}

func TestAClientWaitsWithinBounds(t *testing.T) {
	for told, want := range map[time.Duration]time.Duration{-1: unsaidWait, 0: minWait, time.Second: time.Second, time.Hour: maxWait} {
		if got := wait(told); got != want {
			t.Errorf("told to wait %v it waits %v, want %v", told, got, want)
		}
	}
}
