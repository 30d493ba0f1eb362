package main

import (
	"net/http"

	"flashsale/infra/kit/client"
)

// outcome names the meaning of an answer or of a missing answer; the breakdown counts
// outcomes.
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

// refusals are the final refusals of a purchase that the contract allows, with their
// statuses.
var refusals = map[string]int{
	"already-ordered": http.StatusConflict, "sold-out": http.StatusConflict, "sale-not-open": http.StatusForbidden,
	"sale-closed": http.StatusGone, "sale-not-found": http.StatusNotFound,
}

// passing are the answers after which the same request may be repeated (P5), with
// their statuses.
var passing = map[string]int{
	"busy": http.StatusServiceUnavailable, "sale-paused": http.StatusServiceUnavailable, "too-many-requests": http.StatusTooManyRequests,
}

// judge classifies the answer to a click. final is false if the buyer may retry.
func judge(saleID string, r client.Answer) (o outcome, final bool) {
	switch {
	case r.Status == http.StatusAccepted && r.Claim.ClaimID != "" && r.Claim.SaleID == saleID && r.Claim.State == "PENDING":
		return accepted, true
	case r.Code != "" && passing[r.Code] == r.Status:
		return outcome(r.Code), false
	case r.Status == http.StatusTooManyRequests && r.Code == "":
		return throttled, false // API Gateway's answer has no code
	case r.Code != "" && passing[r.Code] == 0 && refusals[r.Code] == 0 && r.Status == http.StatusServiceUnavailable:
		return outcome(r.Code), false // a later release's code: its status decides
	case r.Status == http.StatusUnauthorized:
		return "unauthorized", true // most likely an expired token: the caller's fault
	case r.Code != "" && refusals[r.Code] == r.Status:
		if r.Code == "already-ordered" && r.Claim.ClaimID == "" {
			return wrong, true
		}
		return outcome(r.Code), true
	}
	return wrong, true
}

// judgeStatus classifies the answer to a poll of the status resource.
func judgeStatus(saleID string, r client.Answer) (o outcome, final bool) {
	switch {
	case r.Status == http.StatusOK && r.Claim.ClaimID != "" && r.Claim.SaleID == saleID:
		switch {
		case r.Claim.State != "PENDING" && r.Claim.OrderID != "": // also a state that is new
			return confirmed, true
		case r.Claim.State == "PENDING" && r.Claim.OrderID == "":
			return pending, false
		}
		return wrong, true
	case r.Status == http.StatusNotFound && r.Code == string(noSuchItem):
		return noSuchItem, true
	case r.Status == http.StatusServiceUnavailable && r.Code == string(busy):
		return busy, false
	case r.Status == http.StatusTooManyRequests:
		return throttled, false
	case r.Status == http.StatusUnauthorized:
		return "unauthorized", true
	}
	return wrong, true
}
