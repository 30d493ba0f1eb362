package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/sale"
)

const (
	payWithin = 30 * time.Minute // of ledgertest.World.OpenUnpaid
	grace     = 2 * time.Minute
)

func TestCallsOfAPaymentAndItsRefund(t *testing.T) {
	w, db, _ := faulty(t)
	w.OpenUnpaid(5, 1)
	ids := w.Ordered("alice", "bob")
	l := w.Knowing()
	unnamed := ledgertest.PaymentOf(ids[1], "pi_3")
	unnamed.SaleID = ""
	for _, tt := range []struct {
		name    string
		payment sale.Payment
		want    map[string]int
		writes  float64 // write units
	}{
		{"first", ledgertest.PaymentOf(ids[0], "pi_1"), map[string]int{"BatchGetItem": 1, "TransactWriteItems": 1}, 4},
		{"again", ledgertest.PaymentOf(ids[0], "pi_1"), map[string]int{"BatchGetItem": 1}, 0},
		{"of another order", ledgertest.PaymentOf(ids[1], "pi_1"), map[string]int{"BatchGetItem": 1}, 0},
		// The claim is found to be paid; a guard, the refund, the claim and the listing.
		{"another", ledgertest.PaymentOf(ids[0], "pi_2"), map[string]int{"BatchGetItem": 1, "TransactWriteItems": 2}, 4 + 8},
		{"another again", ledgertest.PaymentOf(ids[0], "pi_2"), map[string]int{"BatchGetItem": 1, "GetItem": 1}, 0},
		{"of no order", ledgertest.PaymentOf(0, "pi_4"), map[string]int{"BatchGetItem": 1, "TransactWriteItems": 1}, 4},
		{"of no named sale", unnamed, map[string]int{"BatchGetItem": 1, "TransactWriteItems": 1}, 4},
	} {
		tt.want["GetItem"]++ // the account of its money
		calls(t, db, tt.name, tt.want, func() {
			if _, err := l.Pay(w.Ctx, tt.payment); err != nil {
				t.Fatal(err)
			}
		})
		if writes, _ := db.Consumed(); writes != tt.writes {
			t.Errorf("%s: %v write units, want %v", tt.name, writes, tt.writes)
		}
	}
}

func TestMoreTimeToPayCostsAsMuchAsAPause(t *testing.T) {
	costs := func(e sale.Edit) (map[string]int, float64) {
		w, db, _ := faulty(t)
		w.OpenUnpaid(9, 5)
		e.SaleID = "moutai"
		l := w.Environment()
		db.ResetUsage()
		if _, err := l.Edit(w.Ctx, e); err != nil {
			t.Fatal(err)
		}
		writes, _ := db.Consumed()
		return db.Calls(), writes
	}
	calls, writes := costs(sale.Edit{PayUntil: ledgertest.Start.Add(time.Hour)})
	pauseCalls, pauseWrites := costs(sale.Edit{Paused: new(true)})
	if diff := cmp.Diff(pauseCalls, calls); diff != "" || writes != pauseWrites {
		t.Errorf("%v write units, a pause %v; calls (-of a pause +of more time):\n%s", writes, pauseWrites, diff)
	}
}

func TestCallsOfAPassThatReleases(t *testing.T) {
	w, db, _ := faulty(t)
	w.OpenUnpaid(120, 1)
	users := make([]string, 60)
	for i := range users {
		users[i] = fmt.Sprint("user-", i)
	}
	w.Ordered(users...)
	l := w.Environment()
	for _, tt := range []struct {
		name   string
		passes time.Duration
		want   map[string]int
	}{
		// The sale, the shard, the claims; when to look again.
		{"nothing due", 0, map[string]int{"GetItem": 1, "BatchGetItem": 1, "Query": 1, "UpdateItem": 1}},
		// Only the shard, because a buyer may have cancelled.
		{"not due yet", time.Minute, map[string]int{"BatchGetItem": 1}},
		// 60 claims in one transaction, and one that puts them back.
		{"all due", payWithin + grace, map[string]int{"GetItem": 1, "BatchGetItem": 2, "Query": 1, "TransactWriteItems": 1 + 1, "UpdateItem": 1}},
		{"all released", payWithin + grace, map[string]int{"GetItem": 1, "BatchGetItem": 1, "Query": 1, "UpdateItem": 1}},
	} {
		w.Pass(tt.passes)
		listing := w.Listing()
		if tt.name == "not due yet" {
			if _, err := l.Sale(w.Ctx, "moutai"); err != nil { // the number of shards never changes
				t.Fatal(err)
			}
		}
		calls(t, db, tt.name, tt.want, func() {
			if done, err := l.ReleaseDue(w.Ctx, listing, grace); err != nil || (done.ReadUnits > 0) != (tt.want["Query"] > 0) {
				t.Errorf("%s: %+v (%v)", tt.name, done, err)
			}
		})
	}
}

// The provider waits for the answer, so each read has six tries.
func TestAPaymentWaitsForAThrottledReadAndIsBusyInTheEnd(t *testing.T) {
	for op, item := range map[string]string{"BatchGetItem": "PAYMENT#", "GetItem": "SALE#"} {
		for throttled, want := range map[int]sale.Code{5: "", 6: sale.Busy} {
			synctest.Test(t, func(t *testing.T) {
				w, db, _ := faulty(t)
				w.OpenUnpaid(5, 1)
				id := w.Ordered("alice")[0]
				reads := 0
				db.Fault = dynamotest.On(op, item, func(dynamotest.Call) dynamotest.Fault {
					if reads++; reads > throttled {
						return dynamotest.Fault{}
					}
					return dynamotest.Fault{Kind: dynamotest.Throttle}
				})
				_, err := w.Environment().Pay(w.Ctx, ledgertest.PaymentOf(id, "pi_1"))
				if sale.CodeOf(err) != want || reads != 6 {
					t.Errorf("%s: %v after %d reads of which %d are throttled, want %q after 6 (P16)", item, err, reads, throttled, want)
				}
				if paid := w.Item("CLAIM#moutai#0", "alice")["paidAt"] != nil; paid != (want == "") {
					t.Errorf("%s: %d reads are throttled: paid is %t", item, throttled, paid)
				}
			})
		}
	}
}

// A plain read may see half of a transaction: here the guard of a payment without its refund,
// whose put had no answer. The report must come again until both are visible.
func TestAGuardThatIsVisibleBeforeItsRefundIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, db, _ := faulty(t)
		w.OpenUnpaid(5, 1)
		id := w.Ordered("alice")[0]
		w.Cancels("alice")
		const hidden = time.Minute
		db.Fault = dynamotest.On("TransactWriteItems", "REFUND#", func(c dynamotest.Call) dynamotest.Fault {
			i := slices.IndexFunc(c.Keys, func(key string) bool { return strings.HasPrefix(key, "REFUND#") })
			return dynamotest.Fault{Kind: dynamotest.LostReply, Hidden: []int{i}, HiddenFor: hidden}
		})
		for range 2 { // its own repeat, and the provider's
			_, err := w.Ledger.Pay(w.Ctx, ledgertest.PaymentOf(id, "pi_1"))
			w.Refused(sale.Busy, err)
		}
		time.Sleep(hidden)
		if done, err := w.Ledger.Pay(w.Ctx, ledgertest.PaymentOf(id, "pi_1")); err != nil || done.Refund == nil || done.Refund.Reason != sale.RefundReleased {
			t.Errorf("got %+v (%v)", done, err)
		}
	})
}

// The time of an invocation ends before the pass: half of it is for reading.
func TestAPassWithoutEnoughTimeReleasesWhatItHasReadAndIsContinued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, db, _ := faulty(t)
		w.OpenUnpaid(200, 80) // twenty buckets
		for i := range 60 {
			w.Ordered(fmt.Sprint("user-", i))
		}
		w.Pass(payWithin + grace)
		var queries atomic.Int64
		db.Fault = dynamotest.On("Query", "", func(dynamotest.Call) dynamotest.Fault {
			queries.Add(1)
			return dynamotest.Fault{Delay: 900 * time.Millisecond} // sixteen at a time
		})
		calls, total := 0, 0
		for complete := false; !complete; calls++ {
			if calls == 10 {
				t.Fatal("the pass comes to no end")
			}
			ctx, cancel := context.WithTimeout(w.Ctx, 3*time.Second)
			listing, err := w.Ledger.Listing(ctx, "moutai")
			if err != nil {
				t.Fatal(err)
			}
			done, err := w.Environment().ReleaseDue(ctx, listing, grace)
			cancel()
			if err != nil {
				t.Fatalf("call %d: %+v (%v)", calls, done, err)
			}
			total += done.Released
			complete = done.Complete
		}
		if calls < 2 || queries.Load() > 30 || total != 60 {
			t.Errorf("%d calls with %d queries released %d claims, want several, at most 30, 60", calls, queries.Load(), total)
		}
		w.Settled(80)
		if _, err := w.Environment().ReleaseDue(w.Ctx, w.Listing(), grace); err != nil {
			t.Fatal(err)
		}
		var stock int64
		for _, n := range w.Stock(80) {
			stock += n
		}
		if stock != 200 {
			t.Errorf("%d in stock, want all 200", stock)
		}
	})
}
