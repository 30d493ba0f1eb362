// Package httpapi is the HTTP contract of the functions: who is calling, what a
// refusal looks like, and the one table from code to status.
//
// It translates between API Gateway's payload 2.0, RFC 9457 and the codes of package
// sale, and uses no table and no queue. Header names are constants and header values
// are made here, never echoed (P18).
package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// Response is an answer in payload format 2.0.
type Response struct {
	StatusCode int     `json:"statusCode"`
	Headers    Headers `json:"headers"`
	Body       string  `json:"body"`
}

// Headers are all the headers an answer may have.
type Headers struct {
	ContentType  string `json:"Content-Type,omitempty"`
	CacheControl string `json:"Cache-Control,omitempty"`
	Location     string `json:"Location,omitempty"`
	RetryAfter   string `json:"Retry-After,omitempty"` // see Seconds
	Vary         string `json:"Vary,omitempty"`
	Version      string `json:"Flashsale-Version,omitempty"`
}

// VersionHeader is the header by which every function's answer tells its release.
const VersionHeader = "Flashsale-Version"

// ClaimPath is the path of the caller's own claim in a sale.
func ClaimPath(saleID string) string { return "/sales/" + saleID + "/orders/me" }

// Time formats an instant for bodies: RFC 3339, milliseconds, UTC.
func Time(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// Seconds formats a Retry-After: whole seconds, at least 1, rounded up, and at most a day: clients that wait by one
// timer of JavaScript ask at once if it is more than 24.8 days.
func Seconds(d time.Duration) string {
	return strconv.FormatInt(int64(min(max(1, math.Ceil(d.Seconds())), 86400)), 10)
}

// Claim is a claim as it appears in bodies.
type Claim struct {
	ClaimID    string          `json:"claimId"`
	SaleID     string          `json:"saleId"`
	State      sale.ClaimState `json:"state"`
	AcceptedAt string          `json:"acceptedAt"`
	Units      int64           `json:"units,omitempty"` // absent if it is one
	Now        string          `json:"now,omitempty"`   // the server's time
	OrderID    string          `json:"orderId,omitempty"`
	// Amount, in minor units, and Currency are what the order costs, in a sale that asks for payment.
	Amount     int64    `json:"amount,omitempty"`
	Currency   string   `json:"currency,omitempty"`
	PayBy      string   `json:"payBy,omitempty"`
	PaymentURL string   `json:"paymentUrl,omitempty"`
	Refund     *Money   `json:"refund,omitempty"` // of the order's payment
	Refunds    []Refund `json:"refunds,omitempty"`
}

// Money says what became of the money of a payment. Amounts are in minor units; nobody knows them of the currency XXX.
type Money struct {
	Payment    string          `json:"payment"`
	State      sale.MoneyState `json:"state"`
	Amount     int64           `json:"amount"` // that was paid
	Back       int64           `json:"back,omitempty"`
	Currency   string          `json:"currency"`
	RefundedAt string          `json:"refundedAt,omitempty"` // since when the whole is back
}

// MoneyOf converts what is to be said of a payment's money; nil is nothing.
func MoneyOf(payment string, m sale.Money) *Money {
	if m.State == sale.MoneyNone {
		return nil
	}
	shown := &Money{
		Payment: payment, State: m.State, Amount: m.Paid, Back: m.Back, Currency: cmp.Or(m.Currency, "XXX"),
	}
	if !m.At.IsZero() {
		shown.RefundedAt = Time(m.At)
	}
	return shown
}

// Refund is a payment of a claim's order that goes back to the buyer.
type Refund struct {
	Payment    string            `json:"payment"`
	Reason     sale.RefundReason `json:"reason"`
	Amount     int64             `json:"amount"` // in minor units
	Currency   string            `json:"currency"`
	RefundedAt string            `json:"refundedAt,omitempty"` // absent while the whole is not back
	State      sale.MoneyState   `json:"state,omitempty"`      // absent while nothing went back
	Back       int64             `json:"back,omitempty"`       // in minor units
}

// RefundsOf converts the refunds of a claim.
func RefundsOf(refunds []sale.Refund) []Refund {
	var shown []Refund
	for _, r := range refunds {
		s := Refund{Payment: r.Payment, Reason: r.Reason, Amount: r.Amount, Currency: r.Currency}
		if m := MoneyOf(r.Payment, sale.MoneyOf(sale.Claim{}, &r)); m != nil {
			s.RefundedAt, s.State, s.Back = m.RefundedAt, m.State, m.Back
		}
		shown = append(shown, s)
	}
	return shown
}

// ClaimOf converts what the claim alone says, without its refunds, and says nothing of the order's money if one of
// these knows more.
func ClaimOf(c sale.Claim) Claim {
	b := Claim{ClaimID: c.ID, SaleID: c.SaleID, State: c.State(), AcceptedAt: Time(c.AcceptedAt), Units: c.Units}
	if !slices.Contains(c.Refunds, c.Payment) {
		b.Refund = MoneyOf(c.Payment, sale.MoneyOf(c, nil))
	}
	if c.OrderID != 0 {
		b.OrderID = orderid.String(c.OrderID)
	}
	return b
}

// JSON returns an answer with a JSON body. It is private to the caller unless a handler
// changes that, so no cache may store it.
func JSON(status int, body any) Response {
	text, err := encode(body)
	if err != nil {
		// The bodies are this program's own structs, which always encode.
		return response(http.StatusInternalServerError, jsonMedia, []byte(`{"code":"internal"}`))
	}
	return response(status, jsonMedia, text)
}

// encode writes JSON without the escapes that only HTML needs.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Text returns an answer whose body is a plain text.
func Text(status int, body string) Response { return response(status, "text/plain", []byte(body)) }

// NoContent returns an answer without a body.
func NoContent() Response { return response(http.StatusNoContent, "", nil) }

func response(status int, media string, body []byte) Response {
	return Response{
		StatusCode: status, Body: string(body),
		Headers: Headers{ContentType: media, CacheControl: "no-store", Version: sale.ProgramVersion},
	}
}
