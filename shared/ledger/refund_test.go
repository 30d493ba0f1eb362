package ledger_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/sale"
)

// All refunds of a sale have its listing in common, and a transaction holds its items.
func TestManyRefundsAtOnceDoNotWaitForEachOther(t *testing.T) {
	const count, every, held = 200, 5 * time.Millisecond, 20 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		w, db, _ := faulty(t)
		w.OpenUnpaid(count, 1)
		var ids []uint64
		for i := range count {
			user := fmt.Sprint("user-", i)
			ids = append(ids, w.Ordered(user)[0])
			w.Cancels(user)
		}
		free := map[string]time.Time{}
		var mu sync.Mutex
		db.Fault = dynamotest.On("TransactWriteItems", "", func(c dynamotest.Call) dynamotest.Fault {
			mu.Lock()
			defer mu.Unlock()
			for _, key := range c.Keys {
				if time.Now().Before(free[key]) {
					return dynamotest.Fault{Kind: dynamotest.Conflict}
				}
			}
			for _, key := range c.Keys {
				free[key] = time.Now().Add(held)
			}
			return dynamotest.Fault{Delay: held}
		})
		db.ResetUsage()
		var wait sync.WaitGroup
		for i := range count {
			wait.Go(func() {
				done, err := w.Ledger.Pay(w.Ctx, ledgertest.PaymentOf(ids[i], fmt.Sprint("pi_", i)))
				if err != nil || done.Refund == nil || !done.New {
					t.Errorf("refund %d: %+v (%v)", i, done, err)
				}
			})
			time.Sleep(every)
		}
		wait.Wait()
		// Each finds its claim released first; the first few find the listing held, or noted.
		if n := db.Calls()["TransactWriteItems"]; n > 2*count+count/4 {
			t.Errorf("%d transactions for %d refunds", n, count)
		}
		refunds, err := w.Ledger.Refunds(w.Ctx, "moutai")
		if at := w.Number("SALES", "moutai", "refundAt"); err != nil || len(refunds) != count || at != w.Now().UnixMilli() {
			t.Errorf("%d refunds (%v), noted at %d", len(refunds), err, at)
		}
	})
}

func TestTwoWhoTakeARefundInTheSameMomentDoNotBothHaveIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, db, _ := faulty(t)
		due, err := w.Ledger.Pay(w.Ctx, ledgertest.PaymentOf(1, "pi_1")) // of an order that nobody knows
		if err != nil || due.Refund == nil {
			t.Fatalf("%+v (%v)", due, err)
		}
		take := func() bool {
			_, isTaken, err := w.Ledger.TakeRefund(w.Ctx, *due.Refund, &sale.Sending{ID: "press"}, "live")
			return isTaken && err == nil
		}
		isFirst := true
		db.Fault = dynamotest.On("UpdateItem", "REFUND#", func(dynamotest.Call) (f dynamotest.Fault) {
			if isFirst {
				isFirst, f.Kind = false, dynamotest.ServerError
				if !take() {
					t.Error("the other one does not get it")
				}
			}
			return f
		})
		if take() {
			t.Error("both have it")
		}
	})
}
