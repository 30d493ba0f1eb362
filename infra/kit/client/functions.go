package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Logical ids, in the template, of the functions that an operator invokes.
const (
	SeedFunction      = "SeedFunction"
	ReconcileFunction = "ReconcileFunction"
	ReleaseFunction   = "ReleaseFunction"
	DrawFunction      = "DrawFunction"
	OperateFunction   = "OperateFunction"
)

// FunctionError is the header that the Lambda service sets when the function failed.
const FunctionError = "X-Amz-Function-Error"

// ErrNoFunctions means that only the address of the API is known.
var ErrNoFunctions = errors.New("only the address of the API is known: give --env or --stack, or where a sale would be created an existing one")

// Refusal is a function's own error.
type Refusal struct {
	Function string `json:"-"`
	Code     string `json:"errorType"`    // one of the project's error codes, if the handler returned an error
	Detail   string `json:"errorMessage"` // the code and further details
}

func (r *Refusal) Error() string { return fmt.Sprintf("%s answered %.300q", r.Function, r.Detail) }

// Invoke calls a function by its logical id in the template and waits for its answer.
func (c *Client) Invoke(ctx context.Context, function string, payload []byte) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, invokeTime)
	defer cancel()
	switch {
	case c.invoke != nil:
		return c.invoke(ctx, function, payload)
	case c.lambda == "":
		return Answer{}, ErrNoFunctions
	}
	address := c.lambda + "/2015-03-31/functions/" + url.PathEscape(function) + "/invocations"
	return c.send(ctx, http.MethodPost, address, string(payload), []string{"Content-Type", "application/json"})
}

// Ask calls a function with a request and decodes its answer unless answer is nil. The error
// is a *Refusal if the function failed.
func (c *Client) Ask(ctx context.Context, function string, request, answer any) error {
	payload, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("write request: %w", err)
	}
	a, err := c.Invoke(ctx, function, payload)
	switch {
	case err != nil:
		return fmt.Errorf("invoke %s: %w", function, err)
	case a.Header.Get(FunctionError) != "":
		refusal := Refusal{Function: function}
		if json.Unmarshal(a.Body, &refusal) != nil || refusal.Detail == "" {
			refusal.Detail = string(a.Body)
		}
		return &refusal
	case a.Status != http.StatusOK:
		return fmt.Errorf("invoke %s: %w", function, unexpected(a))
	case answer == nil:
		return nil
	}
	if err := json.Unmarshal(a.Body, answer); err != nil {
		return fmt.Errorf("read the answer of %s: %w", function, err)
	}
	return nil
}

// Sale describes a sale to create.
type Sale struct {
	ID, Name          string
	OpensAt, ClosesAt time.Time
	Stock, Shards     int
	MaxPerOrder       int // units; 0 is one
	// PayWithin is how long a buyer has to pay Price in Currency; 0 if the sale asks for no
	// payment.
	PayWithin time.Duration
	// EnterFrom, EnterUntil and KeepFor, in whole hours, are those of a draw; zero if the sale has
	// none.
	EnterFrom, EnterUntil time.Time
	KeepFor               time.Duration
}

// Price, in minor units, and Currency are those of every sale that Seed creates and that
// asks for payment.
const (
	Price    = 100
	Currency = "CNY"
)

// Seed creates a sale through SeedFunction.
func (c *Client) Seed(ctx context.Context, s Sale) error {
	request := map[string]any{
		"action": "create", "saleId": s.ID, "name": s.Name, "stock": s.Stock, "shards": s.Shards,
		"opensAt": s.OpensAt.UTC().Format(time.RFC3339Nano), "closesAt": s.ClosesAt.UTC().Format(time.RFC3339Nano),
	}
	if s.MaxPerOrder > 1 {
		request["maxPerOrder"] = s.MaxPerOrder
	}
	if s.PayWithin != 0 {
		request["payWithin"], request["price"], request["currency"] = int64(s.PayWithin/time.Second), Price, Currency
	}
	if s.KeepFor != 0 {
		request["enterFrom"], request["enterUntil"] = s.EnterFrom.UTC().Format(time.RFC3339Nano), s.EnterUntil.UTC().Format(time.RFC3339Nano)
		request["keepHours"] = int64(s.KeepFor / time.Hour)
	}
	if err := c.Ask(ctx, SeedFunction, request, nil); err != nil {
		return fmt.Errorf("create sale %s: %w", s.ID, err)
	}
	return nil
}

// Receipt gets a sale's books from ReconcileFunction and returns a summary. It fails when
// they do not balance or an order is not confirmed.
func (c *Client) Receipt(ctx context.Context, saleID string) (string, error) {
	var answer struct {
		Receipts []struct {
			SaleID          string
			Seeded, Stock   int64
			Claims, Pending int64
			Units           int64 // of the claims, if one may have several
			Balanced        bool
			Findings        []string
		}
	}
	if err := c.Ask(ctx, ReconcileFunction, map[string]string{"saleId": saleID}, &answer); err != nil {
		return "", fmt.Errorf("read receipt: %w", err)
	}
	if len(answer.Receipts) != 1 || answer.Receipts[0].SaleID != saleID {
		return "", fmt.Errorf("read receipt: ReconcileFunction answered with %d receipts", len(answer.Receipts))
	}
	r := answer.Receipts[0]
	words := fmt.Sprintf("%d seeded = %d left + %d claims", r.Seeded, r.Stock, r.Claims)
	if r.Units > 0 {
		words += fmt.Sprintf(" of %d units", r.Units)
	}
	if !r.Balanced || r.Pending > 0 {
		return words, fmt.Errorf("the books do not balance: %s, %d pending, %q", words, r.Pending, r.Findings)
	}
	return words, nil
}
