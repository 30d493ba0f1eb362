package main

import "net/http"

// outcome names what an answer, or the lack of one, means. It is what the
// breakdown counts, and short enough for it.
type outcome string

const (
	accepted  outcome = "accepted"
	confirmed outcome = "confirmed"
	// acceptedAgain is a repeat with the same Idempotency-Key (P9).
	acceptedAgain outcome = "accepted-again"
	pending       outcome = "pending"
	noSuchItem    outcome = "order-not-found"
	busy          outcome = "busy"
	throttled     outcome = "throttled"
	noAnswer      outcome = "no-answer"
	notSent       outcome = "not-sent-in-time"
	wrong         outcome = "WRONG"
)

// refusals are the final answers that a sale may give to a purchase, with the
// status that each must have.
var refusals = map[string]int{
	"already-ordered": http.StatusConflict, "sold-out": http.StatusConflict, "sale-not-open": http.StatusForbidden,
	"sale-closed": http.StatusGone, "sale-not-found": http.StatusNotFound,
}

// passing are the answers after which the same request may be repeated (P5), with
// their statuses.
var passing = map[string]int{
	"busy": http.StatusServiceUnavailable, "sale-paused": http.StatusServiceUnavailable, "too-many-requests": http.StatusTooManyRequests,
}

// judge reads the answer to a click. final is false if the buyer may ask again.
func judge(saleID string, r reply) (o outcome, final bool) {
	switch {
	case r.status == http.StatusAccepted && r.claim.ClaimID != "" && r.claim.SaleID == saleID && r.claim.State == "PENDING":
		return accepted, true
	case r.code != "" && passing[r.code] == r.status:
		return outcome(r.code), false
	case r.status == http.StatusTooManyRequests && r.code == "":
		return throttled, false // API Gateway's own answer has no code
	case r.status == http.StatusUnauthorized:
		return "unauthorized", true // an expired token, most likely: the caller's fault
	case r.code != "" && refusals[r.code] == r.status:
		if r.code == "already-ordered" && r.claim.ClaimID == "" {
			return wrong, true
		}
		return outcome(r.code), true
	}
	return wrong, true
}

// judgeStatus reads the answer to a poll of the status resource.
func judgeStatus(saleID string, r reply) (o outcome, final bool) {
	switch {
	case r.status == http.StatusOK && r.claim.ClaimID != "" && r.claim.SaleID == saleID:
		switch {
		case r.claim.State == "CONFIRMED" && r.claim.OrderID != "":
			return confirmed, true
		case r.claim.State == "PENDING" && r.claim.OrderID == "":
			return pending, false
		}
		return wrong, true
	case r.status == http.StatusNotFound && r.code == string(noSuchItem):
		return noSuchItem, true
	case r.status == http.StatusServiceUnavailable && r.code == string(busy):
		return busy, false
	case r.status == http.StatusTooManyRequests:
		return throttled, false
	case r.status == http.StatusUnauthorized:
		return "unauthorized", true
	}
	return wrong, true
}
