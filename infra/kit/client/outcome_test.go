package client

import "testing"

func TestAnswersToPurchasesAreJudged(t *testing.T) {
	pending := Claim{ClaimID: "c", SaleID: "s", State: "PENDING"}
	for _, c := range []struct {
		name  string
		a     Answer
		want  Outcome
		final bool
	}{
		{"an acceptance", Answer{Status: 202, Claim: pending}, Accepted, true},
		{"an acceptance of another sale", Answer{Status: 202, Claim: Claim{ClaimID: "c", SaleID: "other", State: "PENDING"}}, Wrong, true},
		{"an acceptance without a claim", Answer{Status: 202}, Wrong, true},
		{"sold out", Answer{Status: 409, Code: "sold-out"}, SoldOut, true},
		{"already ordered", Answer{Status: 409, Code: "already-ordered", Claim: pending}, AlreadyOrdered, true},
		{"already ordered in another sale of the group", Answer{Status: 409, Code: "already-ordered", Claim: Claim{SaleID: "other"}}, AlreadyOrdered, true},
		{"already ordered, with this sale instead of the claim", Answer{Status: 409, Code: "already-ordered", Claim: Claim{SaleID: "s"}}, Wrong, true},
		{"already ordered without the claim", Answer{Status: 409, Code: "already-ordered"}, Wrong, true},
		{"already ordered in another sale", Answer{Status: 409, Code: "already-ordered", Claim: Claim{ClaimID: "c", SaleID: "other", State: "PENDING"}}, Wrong, true},
		{"already ordered and confirmed without an order id", Answer{Status: 409, Code: "already-ordered", Claim: Claim{ClaimID: "c", SaleID: "s", State: "CONFIRMED"}}, Wrong, true},
		{"busy", Answer{Status: 503, Code: "busy"}, Busy, false},
		{"a later release's code", Answer{Status: 503, Code: "resting"}, "later:resting", false},
		{"paused", Answer{Status: 503, Code: "sale-paused"}, "sale-paused", false},
		{"throttled by API Gateway", Answer{Status: 429}, Throttled, false},
		{"too many requests of one user", Answer{Status: 429, Code: "too-many-requests"}, "too-many-requests", false},
		{"an expired token", Answer{Status: 401}, Unauthorized, true},
		{"API Gateway's 500", Answer{Status: 500}, Failed, false},
		{"internal", Answer{Status: 500, Code: "internal"}, Wrong, true},
		{"an unknown code", Answer{Status: 409, Code: "phantom"}, Wrong, true},
		{"a status that the contract does not have", Answer{Status: 200}, Wrong, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, final := JudgePurchase("s", c.a); got != c.want || final != c.final {
				t.Errorf("%s, final %v; want %s, %v", got, final, c.want, c.final)
			}
		})
	}
}

func TestAnswersToPollsAreJudged(t *testing.T) {
	for _, c := range []struct {
		name  string
		a     Answer
		want  Outcome
		final bool
	}{
		{"confirmed", Answer{Status: 200, Claim: Claim{ClaimID: "c", SaleID: "s", State: "CONFIRMED", OrderID: "1"}}, Confirmed, true},
		{"a later release's state", Answer{Status: 200, Claim: Claim{ClaimID: "c", SaleID: "s", State: "SHIPPED", OrderID: "1"}}, Confirmed, true},
		{"confirmed without an order id", Answer{Status: 200, Claim: Claim{ClaimID: "c", SaleID: "s", State: "CONFIRMED"}}, Wrong, true},
		{"pending", Answer{Status: 200, Claim: Claim{ClaimID: "c", SaleID: "s", State: "PENDING"}}, Pending, false},
		{"none", Answer{Status: 404, Code: "order-not-found"}, NoOrder, true},
		{"no such route", Answer{Status: 404}, Wrong, true},
		{"busy", Answer{Status: 503, Code: "busy"}, Busy, false},
		{"too many requests of one user", Answer{Status: 429, Code: "too-many-requests"}, "too-many-requests", false},
		{"API Gateway's 500", Answer{Status: 500}, Failed, false},
		{"internal", Answer{Status: 500, Code: "internal"}, Wrong, true},
		{"an expired token", Answer{Status: 401}, Unauthorized, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, final := JudgePoll("s", c.a); got != c.want || final != c.final {
				t.Errorf("%s, final %v; want %s, %v", got, final, c.want, c.final)
			}
		})
	}
}
