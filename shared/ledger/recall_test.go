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

// Its shard may not show the unit yet, and the rest of the pass does not see the claim.
func TestAPassThatWasCutOffAfterItSawAClaimJustReleasedIsNotTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, db, _ := faulty(t)
		w.OpenUnpaid(40, 40)
		w.Ordered("alice")
		if _, err := w.Environment().Recall(w.Ctx, sale.Recall{SaleID: "moutai"}); err != nil {
			t.Fatal(err)
		}
		w.Pass(ledger.PauseSettles)
		w.Cancels("alice")
		if sale.BucketOf("alice", 10) == 0 {
			t.Fatal("the pass is cut off before it sees the claim")
		}
		db.Fault = dynamotest.On("Query", "CLAIM#moutai#0", func(dynamotest.Call) dynamotest.Fault { return dynamotest.Fault{Delay: time.Hour} })
		for range 2 {
			ctx, cancel := context.WithTimeout(w.Ctx, 10*time.Second)
			done, err := w.Environment().ReleaseDue(ctx, w.Listing(), grace)
			if cancel(); done.Complete {
				t.Errorf("got %+v (%v), want another pass", done, err)
			}
			db.Fault = nil
		}
	})
}
