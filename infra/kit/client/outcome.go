package client

import "net/http"

// Outcome is what an answer means. The outcome of a refusal is its code.
type Outcome string

const (
	Accepted Outcome = "accepted"
	SoldOut  Outcome = "sold-out"
	// NotEnough comes with how many units are left.
	NotEnough Outcome = "not-enough"
	// AlreadyOrdered comes with the claim that the buyer has, or with the other sale of the group.
	AlreadyOrdered Outcome = "already-ordered"
	Pending        Outcome = "pending"
	Confirmed      Outcome = "confirmed"
	NoOrder        Outcome = "order-not-found"
	Busy           Outcome = "busy"
	// Throttled is API Gateway's own 429, which has no code.
	Throttled    Outcome = "throttled"
	Unauthorized Outcome = "unauthorized"
	// Failed is API Gateway's own 5xx: what the function did is unknown.
	Failed Outcome = "failed"
	// Wrong is an answer that the contract does not have.
	Wrong Outcome = "WRONG"
)

// refusals are the final refusals of a purchase that the contract allows, with their
// statuses.
var refusals = map[string]int{
	"already-ordered": http.StatusConflict, "sold-out": http.StatusConflict, "not-enough": http.StatusConflict, "sale-not-open": http.StatusForbidden,
	"sale-closed": http.StatusGone, "recalled": http.StatusGone, "sale-not-found": http.StatusNotFound,
	"not-your-turn": http.StatusForbidden, "turn-over": http.StatusForbidden,
}

// passing are the answers after which the same request may be repeated (P5), with
// their statuses.
var passing = map[string]int{
	"busy": http.StatusServiceUnavailable, "sale-paused": http.StatusServiceUnavailable, "too-many-requests": http.StatusTooManyRequests,
}

// JudgePurchase classifies the answer to a purchase. If it is not final, the same request
// may be repeated.
func JudgePurchase(saleID string, a Answer) (o Outcome, final bool) {
	switch {
	case a.Status == http.StatusAccepted && a.Claim.of(saleID) && a.Claim.State == "PENDING":
		return Accepted, true
	case a.Code != "" && passing[a.Code] == a.Status:
		return Outcome(a.Code), false
	case a.Code != "" && passing[a.Code] == 0 && refusals[a.Code] == 0 && a.Status == http.StatusServiceUnavailable:
		return Outcome("later:" + a.Code), false // a later version's: its status decides
	case a.Code == string(NotEnough) && a.Left < 1:
		return Wrong, true
	case a.Code != "" && refusals[a.Code] == a.Status && (a.Code != "already-ordered" || a.Claim.of(saleID) || a.Claim.elsewhere(saleID)):
		return Outcome(a.Code), true
	}
	return a.withoutFunction()
}

// JudgePoll classifies the answer to a poll of the buyer's own order in a sale. If it is not
// final, the buyer may ask again.
func JudgePoll(saleID string, a Answer) (o Outcome, final bool) {
	switch {
	case a.Status == http.StatusOK && a.Claim.of(saleID):
		if a.Claim.State == "PENDING" {
			return Pending, false
		}
		return Confirmed, true // or a later state, also one that is new
	case a.Status == http.StatusNotFound && a.Code == string(NoOrder):
		return NoOrder, true
	case a.Code != "" && passing[a.Code] == a.Status:
		return Outcome(a.Code), false
	}
	return a.withoutFunction()
}

// of reports whether a claim is a whole claim of the sale: it has an order id if and only if
// it is no longer pending.
func (c Claim) of(saleID string) bool {
	return c.ClaimID != "" && c.SaleID == saleID && (c.State == "PENDING") == (c.OrderID == "")
}

// elsewhere reports whether the claim only names another sale.
func (c Claim) elsewhere(saleID string) bool {
	return c.SaleID != "" && c.SaleID != saleID && c == Claim{SaleID: c.SaleID}
}

// withoutFunction classifies the answers that do not come from a function.
func (a Answer) withoutFunction() (o Outcome, final bool) {
	switch {
	case a.Status == http.StatusUnauthorized:
		return Unauthorized, true
	case a.Status == http.StatusTooManyRequests && a.Code == "":
		return Throttled, false
	case a.Status >= http.StatusInternalServerError && a.Code == "":
		return Failed, false
	}
	return Wrong, true
}
