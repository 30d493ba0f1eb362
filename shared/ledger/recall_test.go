package ledger_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// A purchase has taken its unit, and its claim is not visible yet, while the sale is recalled and a
// pass is made.
func TestARecallFinishesAnOrderWhoseClaimItCouldNotSee(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, next := faulty(t)
		w.Open(4, 1)
		const hidden = 30 * time.Millisecond
		next(dynamotest.Fault{Hidden: []int{1}, HiddenFor: hidden, ReplyDelay: hidden})
		bought := make(chan ledger.ClaimRef)
		go func() {
			p, err := w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice"})
			if err != nil {
				t.Error(err)
			}
			bought <- ledger.ClaimRef{SaleID: "moutai", User: "alice", ClaimID: p.Claim.ID}
		}()
		synctest.Wait()
		if _, err := w.Environment().Recall(w.Ctx, sale.Recall{SaleID: "moutai"}); err != nil {
			t.Fatal(err)
		}
		pass := func(released int, complete bool) {
			t.Helper()
			if done := w.ReleasesBy(w.Environment()); done.Released != released || done.Complete != complete {
				t.Errorf("got %+v, want %d released, complete: %t", done, released, complete)
			}
		}
		pass(0, false)
		w.Environment().Confirm(w.Ctx, []ledger.ClaimRef{<-bought})
		w.Pass(time.Minute)
		pass(1, false) // the clocks of two machines may be a minute apart
		w.Pass(time.Minute)
		pass(0, false)
		w.Pass(time.Minute)
		pass(0, true)
	})
}

// The sale item is recalled, and a shard is not paused yet: between two tries a purchase learns
// of the recall, and does not take a unit under the version that the recall gave to the sale.
func TestAPurchaseThatLearnsOfARecallTakesNoUnit(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(10, 1)
	recalling := false
	ctx, cut := context.WithCancel(w.Ctx)
	db.Fault = func(c dynamotest.Call) dynamotest.Fault {
		switch {
		case recalling && c.Op == "UpdateItem": // the shard cannot be paused
			cut()
			return dynamotest.Fault{Kind: dynamotest.ServerError}
		case recalling || c.Op != "TransactWriteItems":
			return dynamotest.Fault{}
		}
		recalling = true
		if _, err := w.Environment().Recall(ctx, sale.Recall{SaleID: "moutai"}); sale.CodeOf(err) != sale.Busy {
			t.Errorf("the recall: %v, want busy", err)
		}
		w.Pass(2 * time.Second)
		if s, err := w.Ledger.Sale(w.Ctx, "moutai"); err != nil || !s.IsRecalled() {
			t.Errorf("the sale: %+v, %v, want a recalled one", s, err)
		}
		return dynamotest.Fault{Kind: dynamotest.Conflict}
	}
	_, err := w.Buy("alice")
	w.Refused(sale.Recalled, err)
	_, err = w.Ledger.Claim(w.Ctx, "moutai", "alice")
	w.Refused(sale.OrderNotFound, err)
}
