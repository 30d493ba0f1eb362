package handler

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
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

// An empty shard that cannot be recorded in the sale item is a try like any other.
func TestTheWorstCaseWhileEveryShardIsEmptyAndTheSaleItemIsThrottled(t *testing.T) {
	for name, throttled := range map[string][]string{"reads and writes": {"GetItem", "UpdateItem"}, "writes": {"UpdateItem"}} {
		t.Run(name, func(t *testing.T) {
			most, mostCalls := time.Second, 14
			if len(throttled) == 1 {
				most, mostCalls = timeout-invocation.Margin, 48 // each of 6 tries repeats its write 6 times
			}
			testledger.Run(t, func(w *testledger.World) {
				book := opened(w, 100, 100)
				if _, err := book.Sale(w.T.Context(), "moutai"); err != nil { // its snapshot: nothing is empty
					t.Fatal(err)
				}
				empties(w, 100)
				time.Sleep(100 * time.Millisecond)
				w.DB.Fault = func(call dynamotest.Call) dynamotest.Fault {
					if slices.Contains(throttled, call.Op) && call.Keys[0] == "SALE#moutai|SALE" {
						return dynamotest.Fault{Kind: dynamotest.Throttle, Delay: 5 * time.Millisecond}
					}
					return dynamotest.Fault{Delay: 20 * time.Millisecond}
				}
				calls, took := asksOnce(w, book)
				if n := w.DB.Calls()["TransactWriteItems"]; n > 6 || calls > mostCalls || took >= most {
					t.Errorf("%d transactions and %d calls in %v, want at most 6 and %d in less than %v", n, calls, took, mostCalls, most)
				}
				t.Logf("%d calls in %v: %v", calls, took, w.DB.Calls())
			})
		})
	}
}

// empties takes the unit of each shard, without noting anywhere that the shard is empty.
func empties(w *testledger.World, shards int) {
	w.T.Helper()
	for k := range shards {
		w.Tamper(fmt.Sprint("STOCK#moutai#", k), "STOCK", "stock", -1)
	}
}

// While units are put back, each of them raises the sale's version, and buyers empty the
// shards again at once.
func TestTheWorstCaseWhileEveryShardIsEmptyAndTheSaleChangesDuringEachTry(t *testing.T) {
	testledger.Run(t, func(w *testledger.World) {
		book := opened(w, 100, 100)
		empties(w, 100)
		w.DB.Fault = func(call dynamotest.Call) dynamotest.Fault {
			if call.Op == "TransactWriteItems" {
				w.Tamper("SALE#moutai", "SALE", "version", 1)
				return dynamotest.Fault{Delay: 20 * time.Millisecond}
			}
			return dynamotest.Fault{Delay: 5 * time.Millisecond}
		}
		calls, took := asksOnce(w, book)
		if n := w.DB.Calls()["TransactWriteItems"]; n > 6 || took >= time.Second {
			t.Errorf("%d transactions in %v, want at most 6 in less than a second", n, took)
		}
		t.Logf("%d calls in %v: %v", calls, took, w.DB.Calls())
	})
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
