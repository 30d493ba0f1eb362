package handler

import (
	"context"
	"encoding/json"
	"io"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/kit/testledger"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/invocation"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
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
		"every connection hangs":  {Delay: hang},
		"slow and then conflicts": {Kind: dynamotest.Conflict, Delay: 900 * time.Millisecond},
	} {
		for _, everything := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				testledger.Run(t, func(w *testledger.World) { worstCase(w, fault, everything) })
			})
		}
	}
}

// opened opens a sale and returns an environment with the longest jitter.
func opened(w *testledger.World, stock int64, shards int) *ledger.Ledger {
	w.T.Helper()
	w.Open(func(c *sale.Creation) { c.Stock, c.Shards = stock, shards })
	return w.LedgerWith(ledger.Options{Random: func() float64 { return 0.999 }})
}

// worstCase sends one request that has the fault in every transaction, or in every
// call.
func worstCase(w *testledger.World, fault dynamotest.Fault, everything bool) {
	book := opened(w, 100, 10)
	w.DB.Fault = func(call dynamotest.Call) dynamotest.Fault {
		if everything || call.Op == "TransactWriteItems" {
			return fault
		}
		return dynamotest.Fault{}
	}
	calls, took := asksOnce(w, book)
	if took > timeout-invocation.Margin {
		w.T.Errorf("it took %v, want at most %v", took, timeout-invocation.Margin)
	}
	if calls > 7 {
		w.T.Errorf("%d calls: %v", calls, w.DB.Calls())
	}
	w.T.Logf("%d calls in %v: %v", calls, took, w.DB.Calls())
}

// asksOnce sends one request, which must be answered "busy", and counts its calls.
func asksOnce(w *testledger.World, book *ledger.Ledger) (calls int, took time.Duration) {
	w.T.Helper()
	h := lambda.NewHandler(httpapi.Serve(New(book, nil, telemetry.New(io.Discard, "purchase", clock.Wall), clock.Wall).Handle))
	began := time.Now()
	var out []byte
	calls = w.Calls(func() {
		w.Within(timeout, func(ctx context.Context) {
			var err error
			if out, err = h.Invoke(ctx, event(w.T, "purchase-idempotent.json")); err != nil {
				w.T.Fatal(err)
			}
		})
	})
	took = time.Since(began)
	var response httpapi.Response
	if err := json.Unmarshal(out, &response); err != nil {
		w.T.Fatal(err)
	}
	refused(w.T, response, 503, sale.Busy) // P5
	if response.Headers.RetryAfter == "" {
		w.T.Errorf("no Retry-After: %+v", response)
	}
	return calls, took
}
