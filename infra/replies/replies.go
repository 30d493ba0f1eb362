// Package replies reads what the HTTP API said, for the clients that play buyers.
//
// A line in here knows the contract of the API from outside, and no function's code:
// who judges the answers must not share the types of who gave them. What is not as
// the contract says stays zero, and is for the caller's checks to find missing.
package replies

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// Claim is a claim as an answer tells it.
type Claim struct {
	ClaimID string `json:"claimId"`
	SaleID  string `json:"saleId"`
	State   string `json:"state"`
	OrderID string `json:"orderId"`
}

// Read returns a problem's code and the claim, which a problem holds inside.
func Read(body []byte) (code string, c Claim) {
	var b struct {
		Claim
		Code  string `json:"code"`
		Inner Claim  `json:"claim"`
	}
	if json.Unmarshal(body, &b) != nil {
		return "", Claim{}
	}
	if b.ClaimID == "" {
		return b.Code, b.Inner
	}
	return b.Code, b.Claim
}

// RetryAfter returns the pause that the answer asks for, in whole seconds; ok is
// false if it asks for none.
func RetryAfter(h http.Header) (pause time.Duration, ok bool) {
	s, err := strconv.ParseUint(h.Get("Retry-After"), 10, 16)
	return time.Duration(s) * time.Second, err == nil
}
