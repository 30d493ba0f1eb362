package handler

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/infra/kit/dynamotest"
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
				synctest.Test(t, func(t *testing.T) { worstCase(t, fault, everything) })
			})
		}
	}
}

// An empty shard that cannot be recorded in the sale item is a try like any other.
func TestTheWorstCaseWhileEveryShardIsEmptyAndTheSaleItemIsThrottled(t *testing.T) {
	for name, throttled := range map[string][]string{"reads and writes": {"GetItem", "UpdateItem"}, "writes": {"UpdateItem"}} {
		t.Run(name, func(t *testing.T) {
			most, mostCalls := time.Second, 10
			if len(throttled) == 1 {
				most, mostCalls = timeout-invocation.Margin, 48 // each of 6 tries repeats its write 6 times
			}
			synctest.Test(t, func(t *testing.T) {
				db, book := opened(t, 100, 100)
				if _, err := book.Sale(t.Context(), "moutai"); err != nil { // its snapshot: nothing is empty
					t.Fatal(err)
				}
				empties(t, db, 100)
				time.Sleep(100 * time.Millisecond)
				db.Fault = func(call dynamotest.Call) dynamotest.Fault {
					if slices.Contains(throttled, call.Op) && call.Keys[0] == "SALE#moutai|SALE" {
						return dynamotest.Fault{Kind: dynamotest.Throttle, Delay: 5 * time.Millisecond}
					}
					return dynamotest.Fault{Delay: 20 * time.Millisecond}
				}
				calls, took := asksOnce(t, db, book)
				if n := db.Calls()["TransactWriteItems"]; n > 6 || calls > mostCalls || took >= most {
					t.Errorf("%d transactions and %d calls in %v, want at most 6 and %d in less than %v", n, calls, took, mostCalls, most)
				}
				t.Logf("%d calls in %v: %v", calls, took, db.Calls())
			})
		})
	}
}

// Nobody may be told "sold out" before every shard was seen empty. A request whose time ends
// until then has closed some for all others.
func TestRequestsThatFindEveryShardEmptyTryEachOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const shards = 400
		db, _ := opened(t, shards, shards)
		empties(t, db, shards)
		db.ResetUsage()
		db.Fault = func(dynamotest.Call) dynamotest.Fault { return dynamotest.Fault{Delay: 20 * time.Millisecond} }
		for _, want := range []sale.Code{sale.Busy, sale.Busy, sale.SoldOut} {
			ctx, cancel := context.WithTimeout(t.Context(), timeout-invocation.Margin)
			_, err := ledger.New(db, "Ledger", ledger.Options{}).Purchase(ctx, ledger.Request{SaleID: "moutai", User: "alice"})
			cancel()
			if sale.CodeOf(err) != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
		if n := db.Calls()["TransactWriteItems"]; n > shards+2 { // two may have been cut off
			t.Errorf("%d transactions on %d shards", n, shards)
		}
	})
}

// empties takes the unit of each shard, without noting anywhere that the shard is empty.
func empties(t *testing.T, db *dynamotest.DB, shards int) {
	t.Helper()
	for k := range shards {
		if err := db.Tamper(t.Context(), "Ledger", fmt.Sprint("STOCK#moutai#", k), "STOCK", "stock", -1); err != nil {
			t.Fatal(err)
		}
	}
}

// While units are put back, each of them raises the sale's version, and buyers empty the
// shards again at once.
func TestTheWorstCaseWhileEveryShardIsEmptyAndTheSaleChangesDuringEachTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, book := opened(t, 100, 100)
		empties(t, db, 100)
		db.Fault = func(call dynamotest.Call) dynamotest.Fault {
			if call.Op == "TransactWriteItems" {
				if err := db.Tamper(t.Context(), "Ledger", "SALE#moutai", "SALE", "version", 1); err != nil {
					t.Error(err)
				}
				return dynamotest.Fault{Delay: 20 * time.Millisecond}
			}
			return dynamotest.Fault{Delay: 5 * time.Millisecond}
		}
		calls, took := asksOnce(t, db, book)
		if n := db.Calls()["TransactWriteItems"]; n > 6 || took >= time.Second {
			t.Errorf("%d transactions in %v, want at most 6 in less than a second", n, took)
		}
		t.Logf("%d calls in %v: %v", calls, took, db.Calls())
	})
}

// opened is a sale that has just opened, and an environment with the longest jitter.
func opened(t *testing.T, stock int64, shards int) (*dynamotest.DB, *ledger.Ledger) {
	t.Helper()
	db := dynamotest.New(dynamotest.Table{Name: "Ledger", PK: "pk", SK: "sk"})
	c := sale.Creation{SaleID: "moutai", Stock: stock, Shards: shards, OpensAt: time.Now(), ClosesAt: time.Now().Add(time.Hour)}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.New(db, "Ledger", ledger.Options{}).Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return db, ledger.New(db, "Ledger", ledger.Options{Random: func() float64 { return 0.999 }})
}

// worstCase sends one request that has the fault in every transaction, or in every
// call.
func worstCase(t *testing.T, fault dynamotest.Fault, everything bool) {
	db, book := opened(t, 100, 10)
	db.Fault = func(call dynamotest.Call) dynamotest.Fault {
		if everything || call.Op == "TransactWriteItems" {
			return fault
		}
		return dynamotest.Fault{}
	}
	calls, took := asksOnce(t, db, book)
	if took > timeout-invocation.Margin {
		t.Errorf("it took %v, want at most %v", took, timeout-invocation.Margin)
	}
	if calls > 7 {
		t.Errorf("%d calls: %v", calls, db.Calls())
	}
	t.Logf("%d calls in %v: %v", calls, took, db.Calls())
}

// asksOnce sends one request, which must be answered "busy", and counts its calls.
func asksOnce(t *testing.T, db *dynamotest.DB, book *ledger.Ledger) (calls int, took time.Duration) {
	t.Helper()
	db.ResetUsage()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	began := time.Now()
	h := lambda.NewHandler(httpapi.Serve(New(book, nil, telemetry.New(io.Discard, "purchase", clock.Wall), clock.Wall).Handle))
	out, err := h.Invoke(ctx, event(t, "purchase-idempotent.json"))
	took = time.Since(began)
	if err != nil {
		t.Fatal(err)
	}
	var response struct {
		StatusCode int
		Headers    map[string]string
		Body       string
	}
	if err := json.Unmarshal(out, &response); err != nil {
		t.Fatal(err)
	}
	var problem struct{ Code sale.Code }
	if err := json.Unmarshal([]byte(response.Body), &problem); err != nil || problem.Code != sale.Busy {
		t.Errorf("got %s (%v), want busy (P5)", response.Body, err)
	}
	if response.StatusCode != 503 || response.Headers["Retry-After"] == "" {
		t.Errorf("got %d %v", response.StatusCode, response.Headers)
	}
	for _, n := range db.Calls() {
		calls += n
	}
	return calls, took
}
