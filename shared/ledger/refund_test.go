package ledger_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
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

func TestASendingOfAllIsAboutTheSalesOfItsOwnPress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, _ := faulty(t)
		w.OpenUnpaid(1, 1)
		page := func(press, after string) (p ledger.SendingPage) {
			p, err := w.Ledger.SendingPage(w.Ctx, &sale.Sending{ID: press, SendingProgress: sale.SendingProgress{SaleID: after}}, 9)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		page("earlier", "")
		ids := w.Ordered("ann")
		w.Cancels("ann")
		if done, err := w.Ledger.Pay(w.Ctx, ledgertest.PaymentOf(ids[0], "pi_1")); err != nil || done.Refund == nil {
			t.Fatalf("%+v (%v)", done, err)
		}
		first := page("later", "")
		if second := page("later", first.SaleID); first.IsLast || len(second.Refunds) != 1 {
			t.Errorf("got %+v and %+v, want the refund of a sale that had none when an earlier sending read them", first, second)
		}
	})
}

// What follows is noted by nobody else: the account that it follows from must be the one that the refund knows.
func TestAnAcceptedRefundThatFailsMeanwhileIsNotNotedAsAcceptedHoweverOftenItsMoneyChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, db, _ := faulty(t)
		due, err := w.Ledger.Pay(w.Ctx, ledgertest.PaymentOf(1, "pi_1"))
		if err != nil {
			t.Fatal(err)
		}
		taken, _, err := w.Ledger.TakeRefund(w.Ctx, *due.Refund, &sale.Sending{ID: "press"}, "live")
		if err != nil {
			t.Fatal(err)
		}
		provider, reference, _ := strings.Cut(taken.Payment, "#")
		isOurs, dies, n := false, false, 0
		report := func() {
			isOurs = true
			n++
			refund := &sale.RefundReport{ID: fmt.Sprint("re_", n), State: sale.RefundFailed, Amount: 1}
			_, _ = w.Ledger.ReportMoney(w.Ctx, sale.MoneyReport{
				Provider: provider, Reference: reference, Currency: "CNY", Refund: refund,
			})
			isOurs = false
		}
		db.Fault = func(c dynamotest.Call) (f dynamotest.Fault) {
			isRefund := c.Op == "UpdateItem" && strings.HasPrefix(c.Keys[0], "REFUND#")
			switch {
			case isOurs && dies && isRefund:
				f.Kind = dynamotest.ServerError
			case isOurs || n >= 12:
			case c.Op == "BatchGetItem": // a report whose account is written, and nothing else yet
				dies = true
				report()
				dies = false
			case isRefund:
				report()
			}
			return f
		}
		_, err = w.Ledger.NoteSent(w.Ctx, taken, taken.Sent.Accepted("re_12"), nil)
		db.Fault = nil
		all, _ := w.Ledger.Refunds(w.Ctx, "")
		if n != 12 || len(all) != 1 || all[0].Sent.State == sale.SentAccepted {
			t.Errorf("after %d reports (%v): %+v, want it unknown or due again", n, err, all)
		}
	})
}
