package handler

import (
	"fmt"
	"testing"
	"time"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/clock"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

const (
	payWithin = 30 * time.Minute
	grace     = 2 * time.Minute
)

// world is a real ledger over the in-process table, in virtual time.
type world struct {
	testledger.Scheduled
	random func() float64
}

func in(t *testing.T, test func(*testing.T, *world)) {
	testledger.Run(t, func(w *testledger.World) {
		test(w.T, &world{Scheduled: testledger.Scheduled{World: w}})
	})
}

// open creates a sale for a day; payWithin is 0 if it asks for no payment.
func (w *world) open(saleID string, stock int64, shards int, payWithin time.Duration) {
	w.T.Helper()
	w.Open(func(c *sale.Creation) {
		c.SaleID, c.Stock, c.Shards, c.PayWithin = saleID, stock, shards, payWithin
		c.OpensAt, c.ClosesAt = time.Now(), time.Now().Add(24*time.Hour)
	})
}

// draft leaves a sale whose creation is cut off.
func (w *world) draft(saleID string) {
	w.T.Helper()
	w.Draft(saleID, func(c *sale.Creation) { c.PayWithin = payWithin })
}

// order buys for the users called user-first and on, and confirms their claims.
func (w *world) order(saleID string, first, users int) {
	w.T.Helper()
	w.Confirm(w.Crowd(saleID, first, users)...)
}

// pause pauses a sale, or lets it go on.
func (w *world) pause(saleID string, paused bool) {
	w.T.Helper()
	w.Edit(sale.Edit{SaleID: saleID, Paused: &paused})
}

// states counts the claims of user-0 and on by their state.
func (w *world) states(saleID string, users int) map[sale.ClaimState]int {
	w.T.Helper()
	n := map[sale.ClaimState]int{}
	for i := range users {
		c := w.ClaimIn(saleID, fmt.Sprint("user-", i))
		n[c.State()]++
	}
	return n
}

// balanced fails unless an audit of the sale of the events finds nothing.
func (w *world) balanced() {
	w.T.Helper()
	if r := w.Receipt(); !r.Balanced {
		w.T.Fatalf("got %+v", r)
	}
}

// release invokes the function as Lambda does, with the given time.
func (w *world) release(payload string, timeout time.Duration) ([]Pass, error) {
	w.T.Helper()
	h := New(w.LedgerWith(ledger.Options{Random: w.random}), grace, telemetry.New(&w.Log, "release", clock.Wall))
	a, err := testledger.Invoke(&w.Scheduled, h.Handle, payload, timeout)
	return a.Passes, err
}

func (w *world) passes(payload string) []Pass {
	w.T.Helper()
	passes, err := w.release(payload, 5*time.Minute)
	if err != nil {
		w.T.Fatal(err)
	}
	return passes
}
