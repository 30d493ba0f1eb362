package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Answer is an answer of the API or of the Lambda service. If the body does not follow the
// contract, Code and Claim stay empty and the caller's checks fail.
type Answer struct {
	Status     int
	Header     http.Header
	Body       []byte
	Code       string        // of a problem
	Claim      Claim         // in the body, or inside a problem; of a problem about another sale its SaleID alone
	Left       int64         // units, of a refusal because of them
	RetryAfter time.Duration // whole seconds; negative without a valid Retry-After
}

// Claim is a claim in an answer.
type Claim struct {
	ClaimID string `json:"claimId"`
	SaleID  string `json:"saleId"`
	State   string `json:"state"`
	OrderID string `json:"orderId"`
	Units   int64  `json:"units"` // 0 is one
}

// Count is how many units the claim has.
func (c Claim) Count() int64 { return max(1, c.Units) }

// Read reads an answer.
func Read(status int, header http.Header, body []byte) Answer {
	a := Answer{Status: status, Header: header, Body: body, RetryAfter: -1}
	if seconds, err := strconv.ParseUint(header.Get("Retry-After"), 10, 16); err == nil {
		a.RetryAfter = time.Duration(seconds) * time.Second
	}
	var b struct {
		Claim
		Code  string `json:"code"`
		Left  int64  `json:"left"`
		Inner Claim  `json:"claim"`
	}
	if json.Unmarshal(body, &b) != nil {
		return a
	}
	a.Code, a.Claim, a.Left = b.Code, b.Claim, b.Left
	if b.Inner.ClaimID != "" {
		a.Claim = b.Inner
	}
	return a
}

// String formats the answer as one line.
func (a Answer) String() string {
	const most = 160
	body := strings.Join(strings.Fields(string(a.Body)), " ")
	if len(body) > most {
		body = strings.ToValidUTF8(body[:most], "") + "..."
	}
	return fmt.Sprintf("%d %q", a.Status, body)
}
