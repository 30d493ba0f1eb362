package ledger_test

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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

// A mark whose answer was lost is this call's; one that is there before it is another's.
func TestWhoMarkedARefund(t *testing.T) {
	for name, lost := range map[string]int{"every call is answered": 0, "the first answer is lost": 1} {
		t.Run(name, func(t *testing.T) {
			w, db, _ := faulty(t)
			w.Settles(ledgertest.PaymentOf(0, "pi_1"))
			left := lost
			db.Fault = func(c dynamotest.Call) dynamotest.Fault {
				if c.Op != "UpdateItem" || left == 0 {
					return dynamotest.Fault{}
				}
				left--
				return dynamotest.Fault{Kind: dynamotest.LostReply}
			}
			// Both at one instant, which therefore does not say whose mark it is.
			for _, isFirst := range []bool{true, false} {
				if _, marked, err := w.Environment().MarkRefunded(w.Ctx, "", "stripe#pi_1"); err != nil || marked != isFirst {
					t.Errorf("marked: %t (%v), want %t", marked, err, isFirst)
				}
			}
		})
	}
}

func TestACountThatIsCutOffContinuesBehindTheLastPage(t *testing.T) {
	w, db, _ := faulty(t)
	for i := range 20 {
		w.Settles(ledgertest.PaymentOf(0, fmt.Sprintf("pi_%02d", i)))
	}
	db.PageBytes = 1 // a page is an item
	ctx, cancel := context.WithCancel(w.Ctx)
	pages := 0
	db.Fault = dynamotest.On("Query", "", func(dynamotest.Call) dynamotest.Fault {
		if pages++; pages == 11 {
			cancel()
			return dynamotest.Fault{Kind: dynamotest.ServerError}
		}
		return dynamotest.Fault{}
	})
	c := &ledger.RefundCount{}
	if err := w.Ledger.CountRefunds(ctx, c); sale.CodeOf(err) != sale.Busy || c.Complete || c.Due != 10 {
		t.Fatalf("got %+v (%v), want a count that is cut off", c, err)
	}
	if err := w.Ledger.CountRefunds(w.Ctx, c); err != nil || !c.Complete || c.Due != 20 {
		t.Errorf("got %+v (%v)", c, err)
	}
	// One that cannot be read is not forgotten on the pages behind it.
	if _, err := db.UpdateItem(w.Ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String(table), Key: map[string]types.AttributeValue{"pk": text("REFUND#"), "sk": text("stripe#pi_03")},
		UpdateExpression: aws.String("REMOVE amount"),
	}); err != nil {
		t.Fatal(err)
	}
	c = &ledger.RefundCount{}
	if err := w.Ledger.CountRefunds(w.Ctx, c); sale.CodeOf(err) != sale.Internal || c.Due != 19 {
		t.Errorf("got %+v (%v), want 19 due and why one cannot be read", c, err)
	}
	if all, err := w.Ledger.Refunds(w.Ctx, ""); sale.CodeOf(err) != sale.Internal || len(all) != 19 {
		t.Errorf("got %d refunds (%v), want 19 and why one cannot be read", len(all), err)
	}
}

func TestTheBooksHaveTheRefundsOfEveryPageAndThePaymentsOfEveryCurrency(t *testing.T) {
	w, db, _ := faulty(t)
	w.OpenUnpaid(9, 1)
	ids := w.Ordered("alice", "bob")
	dollars := ledgertest.PaymentOf(ids[1], "pi_bob")
	dollars.Currency = "HKD"
	w.Settles(ledgertest.PaymentOf(ids[0], "pi_alice"))
	w.Settles(dollars)
	for i := range 3 {
		w.Settles(ledgertest.PaymentOf(ids[0], fmt.Sprint("pi_", i)))
	}
	db.PageBytes = 1 // a page is an item
	a := &ledger.Audit{SaleID: "moutai"}
	r, err := w.Ledger.Step(w.Ctx, a, func(sale.Claim) {})
	if err != nil || r == nil || r.RefundsDue != 3 {
		t.Fatalf("got %+v (%v), want 3 refunds due", r, err)
	}
	if err := w.Ledger.SaveCursor(w.Ctx, a.Next(), r); err != nil {
		t.Fatal(err)
	}
	if _, marked, err := w.Ledger.MarkRefunded(w.Ctx, "moutai", "stripe#pi_0"); err != nil || !marked {
		t.Fatal(marked, err)
	}
	if err := w.Ledger.CountRefunds(w.Ctx, &ledger.RefundCount{SaleID: "moutai", Books: w.Listing().Books}); err != nil {
		t.Fatal(err)
	}
	want := ledger.Money{"CNY": {Taken: dollars.Amount, Due: 2 * dollars.Amount, Refunded: dollars.Amount}, "HKD": {Taken: dollars.Amount}}
	if got := w.Listing().Books; got.RefundsDue != 2 || !maps.Equal(got.Money, want) {
		t.Errorf("the books have %d due and %v, want 2 and %v", got.RefundsDue, got.Money, want)
	}
}
