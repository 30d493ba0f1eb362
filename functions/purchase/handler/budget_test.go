package handler

import (
	"context"
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/kit/testledger"
	"flashsale/shared/invocation"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// timeout is PurchaseFunction's timeout in template.yaml.
const timeout = 6 * time.Second

// TestTheWorstCaseStaysInsideTheTimeBudget measures, in virtual time, the most
// that one request can cost when nothing ever succeeds (P16).
func TestTheWorstCaseStaysInsideTheTimeBudget(t *testing.T) {
	hang := time.Hour
	for name, fault := range map[string]dynamotest.Fault{
		"total conflict":          {Kind: dynamotest.Conflict, Delay: 30 * time.Millisecond},
		"total throttling":        {Kind: dynamotest.Throttle, Delay: 30 * time.Millisecond},
		"nothing but 5xx":         {Kind: dynamotest.ServerError, Delay: 30 * time.Millisecond},
		"every answer is lost":    {Kind: dynamotest.ApplyLate, After: hang, Delay: 30 * time.Millisecond},
		"slow and then conflicts": {Kind: dynamotest.Conflict, Delay: 900 * time.Millisecond},
	} {
		for _, everything := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				testledger.Run(t, func(w *testledger.World) { worstCase(w, fault, everything) })
			})
		}
	}
}

// worstCase sends one request, which must be answered "busy", and has the fault in every
// transaction, or in every call.
func worstCase(w *testledger.World, fault dynamotest.Fault, everything bool) {
	w.Open(func(c *sale.Creation) { c.Stock, c.Shards = 100, 10 })
	f := &function{World: w}
	f.over(w.LedgerWith(ledger.Options{Random: func() float64 { return 0.999 }})) // the longest jitter
	w.DB.Fault = func(call dynamotest.Call) dynamotest.Fault {
		if everything || call.Op == "TransactWriteItems" {
			return fault
		}
		return dynamotest.Fault{}
	}
	began := time.Now()
	calls := w.Calls(func() {
		w.Within(timeout, func(ctx context.Context) {
			r := f.invoke(w.T, ctx, event(w.T, "purchase-idempotent.json"))
			refused(w.T, r, 503, sale.Busy) // P5
			if r.Headers.RetryAfter == "" {
				w.T.Errorf("no Retry-After: %+v", r)
			}
		})
	})
	took := time.Since(began)
	if took > timeout-invocation.Margin {
		w.T.Errorf("it took %v, want at most %v", took, timeout-invocation.Margin)
	}
	if calls > 7 {
		w.T.Errorf("%d calls: %v", calls, w.DB.Calls())
	}
	w.T.Logf("%d calls in %v: %v", calls, took, w.DB.Calls())
}
