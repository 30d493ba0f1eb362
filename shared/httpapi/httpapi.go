// Package httpapi is the HTTP contract of the functions: who is calling, what a
// refusal looks like, and the one table from code to status.
//
// It translates between API Gateway's payload 2.0, RFC 9457 and the codes of package
// sale, and uses no table and no queue. Header names are constants and header values
// are made here, never echoed (P18).
package httpapi

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"flashsale/shared/jsonwrite"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// MaxBody is the longest request body, in bytes.
const MaxBody = 1 << 10

// Request holds the fields we use of API Gateway's event, payload format 2.0.
type Request struct {
	RouteKey string // like "POST /sales/{saleId}/orders"
	// Sub is the sub claim of the token that the gateway verified; empty if there is
	// none.
	Sub  string
	Path struct{ SaleID, GroupID, OrderID, Provider, Page string } // unvalidated

	ContentType, IdempotencyKey, OriginVerify                      Header
	StripeSignature, WebhookID, WebhookTimestamp, WebhookSignature Header // of payment providers

	Body            string
	IsBase64Encoded bool
}

// Response is an answer in payload format 2.0.
type Response struct {
	StatusCode int     `json:"statusCode"`
	Headers    Headers `json:"headers"`
	Body       string  `json:"body"`
}

// json encodes the answer for API Gateway.
func (r Response) json() []byte {
	o := make(jsonwrite.Object, 0, 768) // most answers
	o.Int("statusCode", int64(r.StatusCode))
	o.Name("headers")
	var h jsonwrite.Object
	h.TextIf("Content-Type", r.Headers.ContentType)
	h.TextIf("Cache-Control", r.Headers.CacheControl)
	h.TextIf("Location", r.Headers.Location)
	h.TextIf("Retry-After", r.Headers.RetryAfter)
	h.TextIf(VersionHeader, r.Headers.Version)
	o = append(o, h.Close()...)
	o.Text("body", r.Body)
	return o.Close()
}

// Headers are all the headers an answer may have.
type Headers struct {
	ContentType  string `json:"Content-Type,omitempty"`
	CacheControl string `json:"Cache-Control,omitempty"`
	Location     string `json:"Location,omitempty"`
	RetryAfter   string `json:"Retry-After,omitempty"` // see Seconds
	Version      string `json:"Flashsale-Version,omitempty"`
}

// VersionHeader is the header by which every function's answer tells its release.
const VersionHeader = "Flashsale-Version"

// User returns the caller: the sub of the token that the gateway verified, and nothing
// else (P12). It fails with sale.Unauthorized when there is none, and with
// sale.InvalidRequest when it is not a valid user id.
func User(r *Request) (string, error) {
	if r.Sub == "" {
		return "", sale.Refuse(sale.Unauthorized, "the request carries no verified user")
	}
	if !sale.AdmitsUser(r.Sub) {
		return "", sale.Refuse(sale.InvalidRequest, "the token's sub must be 1 to 128 printable characters, "+
			"or up to 255 of ASCII, without a blank at either end")
	}
	return r.Sub, nil
}

// SaleID returns the path's sale id, or sale.InvalidRequest.
func SaleID(r *Request) (string, error) { return validID("sale", r.Path.SaleID) }

// GroupID returns the path's group id, or sale.InvalidRequest.
func GroupID(r *Request) (string, error) { return validID("group", r.Path.GroupID) }

func validID(of, id string) (string, error) {
	if !sale.ValidID(id) {
		return "", sale.Refuse(sale.InvalidRequest, "a "+of+" id is 1 to 64 characters of A-Z, a-z, 0-9, _ and -")
	}
	return id, nil
}

// UserAndSale returns the caller and the path's sale id, or the error of User or SaleID.
func UserAndSale(r *Request) (user, saleID string, err error) {
	if user, err = User(r); err != nil {
		return "", "", err
	}
	saleID, err = SaleID(r)
	return user, saleID, err
}

// OrderID returns the path's order id, or sale.InvalidRequest.
func OrderID(r *Request) (uint64, error) {
	id, err := orderid.Parse(r.Path.OrderID)
	if err != nil {
		return 0, sale.Refuse(sale.InvalidRequest, "an order id is a decimal number of up to 19 digits")
	}
	return id, nil
}

// RollPage returns the number of the path's page of a roll, or sale.InvalidRequest.
func RollPage(r *Request) (byte, error) {
	b, err := hex.DecodeString(r.Path.Page)
	if err != nil || len(b) != 1 || hex.EncodeToString(b) != r.Path.Page {
		return 0, sale.Refuse(sale.InvalidRequest, "a page of a roll is two digits of 0-9 and a-f")
	}
	return b[0], nil
}

// IdempotencyKey returns the Idempotency-Key header, "" if there is none. It may be
// quoted, as a structured-field string is, or bare. It fails with sale.InvalidRequest
// for anything but a valid id.
func IdempotencyKey(r *Request) (string, error) {
	if !r.IdempotencyKey.Given {
		return "", nil
	}
	key := r.IdempotencyKey.Value
	if len(key) >= 2 && key[0] == '"' && key[len(key)-1] == '"' {
		key = key[1 : len(key)-1]
	}
	if !sale.ValidID(key) {
		return "", sale.Refuse(sale.InvalidRequest, "an Idempotency-Key is 1 to 64 characters of A-Z, a-z, 0-9, _ and -, quoted or bare")
	}
	return key, nil
}

// Body returns the body as it was sent. It fails with sale.BodyTooLarge if that has more
// bytes than limit, and with sale.InvalidRequest if it is not valid base64 although the
// event says so.
func Body(r *Request, limit int) (string, error) {
	body := r.Body
	if r.IsBase64Encoded {
		if base64.StdEncoding.DecodedLen(len(body)) > limit+2 {
			return "", tooLarge(limit)
		}
		decoded, err := base64.StdEncoding.DecodeString(body)
		if err != nil {
			return "", sale.Refuse(sale.InvalidRequest, "the body is not valid base64")
		}
		body = string(decoded)
	}
	if len(body) > limit {
		return "", tooLarge(limit)
	}
	return body, nil
}

// JSONBody is Body for JSON: it also fails with sale.UnsupportedMediaType for a content type
// other than application/json.
func JSONBody(r *Request, limit int) (string, error) {
	body, err := Body(r, limit)
	if err != nil {
		return "", err
	}
	if r.ContentType.Given && r.ContentType.Value != jsonMedia {
		media, _, err := mime.ParseMediaType(r.ContentType.Value)
		if err != nil || media != jsonMedia {
			return "", sale.Refuse(sale.UnsupportedMediaType, "the content type must be application/json")
		}
	}
	return body, nil
}

// EmptyBody accepts a request without content: no body or an empty JSON object. It
// fails with sale.BodyTooLarge over 1 KiB, with sale.UnsupportedMediaType for a content
// type other than application/json, otherwise with sale.InvalidRequest.
func EmptyBody(r *Request) error {
	body, err := JSONBody(r, MaxBody)
	if err != nil {
		return err
	}
	if body == "" {
		return nil
	}
	inner, ok := strings.CutPrefix(strings.Trim(body, jsonSpace), "{")
	if ok {
		inner, ok = strings.CutSuffix(inner, "}")
	}
	if !ok || strings.Trim(inner, jsonSpace) != "" {
		return sale.Refuse(sale.InvalidRequest, "the body must be absent or an empty JSON object")
	}
	return nil
}

const (
	jsonMedia = "application/json"
	jsonSpace = " \t\r\n"
)

func tooLarge(limit int) error {
	return sale.Refuse(sale.BodyTooLarge, "the body must not be longer than "+strconv.Itoa(limit)+" bytes")
}

// ClaimPath is the path of the caller's own claim in a sale.
func ClaimPath(saleID string) string { return "/sales/" + saleID + "/orders/me" }

// Time formats an instant for bodies: RFC 3339, milliseconds, UTC.
func Time(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// Seconds formats a Retry-After: whole seconds, at least 1, rounded up.
func Seconds(d time.Duration) string {
	return strconv.FormatInt(int64(max(1, math.Ceil(d.Seconds()))), 10)
}

// Claim is a claim as it appears in bodies.
type Claim struct {
	ClaimID    string
	SaleID     string
	State      sale.ClaimState
	AcceptedAt string
	// Omitted if empty.
	OrderID, PayBy, PaymentURL string
	Refunds                    []Refund
}

// Refund is a payment of a claim's order that goes back to the buyer.
type Refund struct {
	Payment    string            `json:"payment"`
	Reason     sale.RefundReason `json:"reason"`
	Amount     int64             `json:"amount"` // in minor units
	Currency   string            `json:"currency"`
	RefundedAt string            `json:"refundedAt,omitempty"` // absent while it is due
}

func (c Claim) json() []byte {
	o := make(jsonwrite.Object, 0, 192)
	o.Text("claimId", c.ClaimID)
	o.Text("saleId", c.SaleID)
	o.Text("state", string(c.State))
	o.Text("acceptedAt", c.AcceptedAt)
	o.TextIf("orderId", c.OrderID)
	o.TextIf("payBy", c.PayBy)
	o.TextIf("paymentUrl", c.PaymentURL)
	if len(c.Refunds) > 0 {
		text, _ := json.Marshal(c.Refunds) // such structs always encode
		o.Name("refunds")
		o = append(o, text...)
	}
	return o.Close()
}

// RefundsOf converts the refunds of a claim.
func RefundsOf(refunds []sale.Refund) []Refund {
	var shown []Refund
	for _, r := range refunds {
		s := Refund{Payment: r.Payment, Reason: r.Reason, Amount: r.Amount, Currency: r.Currency}
		if !r.RefundedAt.IsZero() {
			s.RefundedAt = Time(r.RefundedAt)
		}
		shown = append(shown, s)
	}
	return shown
}

// ClaimOf converts a claim.
func ClaimOf(c sale.Claim) Claim {
	b := Claim{ClaimID: c.ID, SaleID: c.SaleID, State: c.State(), AcceptedAt: Time(c.AcceptedAt)}
	if c.OrderID != 0 {
		b.OrderID = orderid.String(c.OrderID)
	}
	return b
}

// JSON returns an answer with a JSON body. It is private to the caller unless a handler
// changes that, so no cache may store it.
func JSON(status int, body any) Response {
	return response(status, jsonMedia, body)
}

func response(status int, media string, body any) Response {
	text, ok := body.(interface{ json() []byte })
	r := Response{StatusCode: status, Headers: Headers{ContentType: media, CacheControl: "no-store", Version: sale.Release}}
	if ok {
		r.Body = string(text.json())
		return r
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(body); err != nil {
		// The bodies are this program's own structs, which always encode.
		r.StatusCode, b = http.StatusInternalServerError, *bytes.NewBufferString(`{"code":"internal"}`)
	}
	r.Body = strings.TrimSuffix(b.String(), "\n")
	return r
}
