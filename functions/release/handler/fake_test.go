package handler

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/clock"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
	"flashsale/shared/telemetry/telemetrytest"
)

const (
	payWithin = 30 * time.Minute
	grace     = 2 * time.Minute
)

// world is a real ledger over the in-process table, in virtual time.
type world struct {
	t      *testing.T
	db     *dynamotest.DB
	ledger *ledger.Ledger
	log    bytes.Buffer
	random func() float64
}

func in(t *testing.T, test func(*testing.T, *world)) {
	synctest.Test(t, func(t *testing.T) {
		// A synctest bubble begins in 2000, before the first order id.
		time.Sleep(time.Until(time.Date(2026, 11, 11, 20, 0, 0, 0, time.UTC)))
		w := &world{t: t, db: dynamotest.New(dynamotest.Table{Name: "Ledger", PK: "pk", SK: "sk"})}
		w.ledger = w.environment()
		test(t, w)
	})
}

func (w *world) environment() *ledger.Ledger {
	return ledger.New(w.db, "Ledger", ledger.Options{Random: w.random})
}

// open creates a sale; payWithin is 0 if it asks for no payment.
func (w *world) open(saleID string, stock int64, shards int, payWithin time.Duration) {
	w.t.Helper()
	c := sale.Creation{
		SaleID: saleID, Stock: stock, Shards: shards, OpensAt: time.Now(), ClosesAt: time.Now().Add(24 * time.Hour), PayWithin: payWithin,
	}
	if err := c.Check(); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.ledger.Create(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
}

// draft leaves a sale whose creation is cut off.
func (w *world) draft(saleID string) {
	w.t.Helper()
	w.db.Fault = func(c dynamotest.Call) dynamotest.Fault {
		if c.Op == "PutItem" && strings.HasPrefix(c.Keys[0], "STOCK#") {
			return dynamotest.Fault{Kind: dynamotest.ServerError}
		}
		return dynamotest.Fault{}
	}
	c := sale.Creation{
		SaleID: saleID, Stock: 4, Shards: 2, OpensAt: time.Now(), ClosesAt: time.Now().Add(time.Hour), PayWithin: payWithin,
	}
	if _, err := w.ledger.Create(w.t.Context(), c); err == nil {
		w.t.Fatal("created")
	}
	w.db.Fault = nil
}

// order buys for the users called user-first and on, and confirms their claims.
func (w *world) order(saleID string, first, users int) {
	w.t.Helper()
	refs := make([]ledger.ClaimRef, users)
	for i := range refs {
		p, err := w.ledger.Purchase(w.t.Context(), ledger.Request{SaleID: saleID, User: fmt.Sprint("user-", first+i)})
		if err != nil {
			w.t.Fatal(err)
		}
		refs[i] = ledger.ClaimRef{SaleID: saleID, User: p.Claim.User, ClaimID: p.Claim.ID}
	}
	for _, c := range w.ledger.Confirm(w.t.Context(), refs) {
		if c.Err != nil {
			w.t.Fatal(c.Err)
		}
	}
}

func (w *world) claim(saleID string, user int) sale.Claim {
	w.t.Helper()
	c, err := w.environment().Claim(w.t.Context(), saleID, fmt.Sprint("user-", user))
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) pay(saleID string, user int) {
	w.t.Helper()
	p := sale.Payment{
		Provider: "stripe", Reference: fmt.Sprintf("pi_%s_%d", saleID, user), SaleID: saleID,
		OrderID: w.claim(saleID, user).OrderID, Amount: 100, Currency: "EUR",
	}
	if done, err := w.ledger.Pay(w.t.Context(), p); err != nil || done.Refund != nil {
		w.t.Fatalf("got %+v (%v)", done, err)
	}
}

// states counts the claims of user-0 and on by their state.
func (w *world) states(saleID string, users int) map[sale.ClaimState]int {
	w.t.Helper()
	n := map[sale.ClaimState]int{}
	for i := range users {
		c := w.claim(saleID, i)
		n[c.State()]++
	}
	return n
}

// stock is what can be bought of a sale.
func (w *world) stock(saleID string) (units int64) {
	w.t.Helper()
	l := w.environment()
	s, err := l.Sale(w.t.Context(), saleID)
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := l.Remaining(w.t.Context(), s)
	if err != nil {
		w.t.Fatal(err)
	}
	return r.Units
}

// balanced fails unless an audit of the sale finds nothing.
func (w *world) balanced(saleID string) {
	w.t.Helper()
	r, err := w.environment().Step(w.t.Context(), &ledger.Audit{SaleID: saleID}, func(sale.Claim) {})
	if err != nil || r == nil || !r.Balanced {
		w.t.Fatalf("%s: got %+v (%v)", saleID, r, err)
	}
}

// release invokes the function as Lambda does, with the given time.
func (w *world) release(payload string, timeout time.Duration) ([]Pass, error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), timeout)
	defer cancel()
	h := New(w.environment(), grace, telemetry.New(&w.log, "release", clock.Wall))
	out, err := lambda.NewHandler(h.Handle).Invoke(ctx, []byte(payload))
	if err != nil {
		return nil, err
	}
	var a Answer
	if err := json.Unmarshal(out, &a); err != nil {
		w.t.Fatalf("answer %s: %v", out, err)
	}
	return a.Passes, nil
}

func (w *world) passes(payload string) []Pass {
	w.t.Helper()
	passes, err := w.release(payload, 5*time.Minute)
	if err != nil {
		w.t.Fatal(err)
	}
	return passes
}

// lines returns the log's lines since the last call, by message and sale.
func (w *world) lines() map[string]telemetrytest.Line {
	w.t.Helper()
	all, err := telemetrytest.ByName(&w.log, "message", "saleId")
	if err != nil {
		w.t.Error(err)
	}
	return all
}
