package ledger_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

func TestAClaimIsReleasedWhenItsGraceIsOver(t *testing.T) {
	for name, tt := range map[string]struct{ grace, ends time.Duration }{
		"none": {0, 0}, "the default": {ledger.DefaultGrace, 2 * time.Minute}, "the longest": {ledger.MaxGrace, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			w, _, _ := faulty(t)
			w.OpenUnpaid(5, 1)
			w.Ordered("alice")
			w.Pass(payWithin + tt.ends - time.Millisecond)
			for _, want := range []int{0, 1} {
				listing, err := w.Ledger.Listing(w.Ctx, "moutai")
				if err != nil {
					t.Fatal(err)
				}
				if done, err := w.Environment().ReleaseDue(w.Ctx, listing, tt.grace); err != nil || done.Released != want {
					t.Errorf("%d released (%v), want %d", done.Released, err, want)
				}
				w.Pass(time.Millisecond)
			}
		})
	}
}

func TestOnlyAnOrderOfASaleWithPaymentHasToBePaid(t *testing.T) {
	const id = 20 << 32
	asks, free := sale.Sale{PayWithin: payWithin}, sale.Sale{}
	for name, tt := range map[string]struct {
		sale    sale.Sale
		orderID uint64
		want    time.Time
	}{
		"an order":         {asks, id, orderid.Time(id).Add(payWithin)},
		"a pending claim":  {asks, 0, time.Time{}},
		"a free sale":      {free, id, time.Time{}},
		"neither of these": {free, 0, time.Time{}},
	} {
		if got := ledger.PayBy(tt.sale, sale.Claim{OrderID: tt.orderID}); !got.Equal(tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestAPaymentOfAnOrderWhoseSaleIsGoneFails(t *testing.T) {
	w, db, _ := faulty(t)
	w.OpenUnpaid(5, 1)
	id := w.Ordered("alice")[0]
	key := map[string]types.AttributeValue{"pk": text("SALE#moutai"), "sk": text("SALE")}
	if _, err := db.DeleteItem(w.Ctx, &dynamodb.DeleteItemInput{TableName: aws.String(table), Key: key}); err != nil {
		t.Fatal(err)
	}
	_, err := w.Environment().Pay(w.Ctx, ledgertest.PaymentOf(id, "pi_1"))
	w.Refused(sale.Internal, err)
}

// What was read before the table was busy is released; a table that is busy from the start
// ends the call, because the next one comes within a minute.
func TestAPassThatTheBusyTableStops(t *testing.T) {
	for name, readable := range map[string]int{"from its first page on": 0, "after a page": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, db, _ := faulty(t)
				w.OpenUnpaid(60, 1)
				for i := range 30 {
					w.Ordered(fmt.Sprint("user-", i))
				}
				w.Pass(payWithin + grace)
				db.PageBytes = 1000
				pages := 0
				db.Fault = func(c dynamotest.Call) dynamotest.Fault {
					if c.Op != "Query" {
						return dynamotest.Fault{}
					}
					if pages++; pages <= readable {
						return dynamotest.Fault{}
					}
					return dynamotest.Fault{Kind: dynamotest.Throttle}
				}
				ctx, cancel := context.WithTimeout(w.Ctx, time.Minute)
				defer cancel()
				listing, err := w.Ledger.Listing(w.Ctx, "moutai")
				if err != nil {
					t.Fatal(err)
				}
				done, err := w.Environment().ReleaseDue(ctx, listing, grace)
				if w.Refused(sale.Busy, err); (done.Released > 0) != (readable > 0) || done.Complete || ctx.Err() != nil {
					t.Errorf("got %+v (%v)", done, ctx.Err())
				}
			})
		})
	}
}

func TestClaimsThatWereAllPaidMeanwhileCostOneTransaction(t *testing.T) {
	w, db, _ := faulty(t)
	w.OpenUnpaid(5, 1)
	ids := w.Ordered("alice", "bob")
	w.Pass(payWithin + grace)
	releases := 0
	db.Fault = func(c dynamotest.Call) dynamotest.Fault {
		if c.Op == "TransactWriteItems" {
			if releases++; releases == 1 {
				defer func(n int) { releases = n }(releases) // a payment is a transaction, too
				for i, id := range ids {
					w.Settles(ledgertest.PaymentOf(id, fmt.Sprint("pi_", i)))
				}
			}
		}
		return dynamotest.Fault{}
	}
	if done, err := lateRelease(w, w.Environment()); err != nil || done.Released != 0 || releases != 1 {
		t.Errorf("%d transactions, got %+v (%v)", releases, done, err)
	}
}

func TestAUnitThatTheBusyTableDoesNotTakeBackIsPutBackLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, db, next := faulty(t)
		w.OpenUnpaid(1, 1)
		w.Ordered("alice")
		if _, err := w.Ledger.Cancel(w.Ctx, "moutai", "alice"); err != nil {
			t.Fatal(err)
		}
		next(times(1000, dynamotest.Fault{Kind: dynamotest.Throttle})...)
		done, err := lateRelease(w, w.Environment())
		if w.Refused(sale.Busy, err); done.PutBack != 0 || done.Complete {
			t.Errorf("got %+v", done)
		}
		db.Fault = nil
		if done, err := lateRelease(w, w.Environment()); err != nil || done.PutBack != 1 || !done.Complete {
			t.Errorf("got %+v (%v), want the unit put back", done, err)
		}
	})
}

// A cursor that the busy table does not take costs the next call reads. Any other failure to
// store it is one of the pass.
func TestAPassThatCannotStoreItsCursor(t *testing.T) {
	for name, tt := range map[string]struct {
		fault dynamotest.Fault
		gone  bool
		want  sale.Code
	}{
		"the table is busy":   {dynamotest.Fault{Kind: dynamotest.Throttle}, false, ""},
		"the listing is gone": {dynamotest.Fault{}, true, sale.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, db, _ := faulty(t)
				w.OpenUnpaid(200, 80)
				w.Ordered("alice")
				w.Pass(payWithin + grace)
				listing, err := w.Ledger.Listing(w.Ctx, "moutai")
				if err != nil {
					t.Fatal(err)
				}
				if tt.gone {
					key := map[string]types.AttributeValue{"pk": text("SALES"), "sk": text("moutai")}
					if _, err := db.DeleteItem(w.Ctx, &dynamodb.DeleteItemInput{TableName: aws.String(table), Key: key}); err != nil {
						t.Fatal(err)
					}
				}
				stores := 0
				db.Fault = func(c dynamotest.Call) dynamotest.Fault {
					switch c.Op {
					case "Query":
						return dynamotest.Fault{Delay: 300 * time.Millisecond}
					case "UpdateItem":
						stores++
						return tt.fault
					}
					return dynamotest.Fault{}
				}
				ctx, cancel := context.WithTimeout(w.Ctx, 4*time.Second)
				defer cancel()
				if done, err := w.Environment().ReleaseDue(ctx, listing, grace); done.Complete || stores == 0 || (err == nil) != (tt.want == "") || err != nil && sale.CodeOf(err) != tt.want {
					t.Errorf("%d tries to store it, got %+v (%v)", stores, done, err)
				}
			})
		})
	}
}
