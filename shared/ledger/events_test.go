package ledger_test

import (
	"strings"
	"testing"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/sale"
)

// Otherwise a sale would be published again without some of its events.
func TestTheEventsOfASaleAreAllOrAnError(t *testing.T) {
	for _, partition := range []string{"CLAIM#moutai#1", "REFUND#moutai"} {
		w, db, _ := faulty(t)
		w.Open(20, 8)
		w.Ordered("alice")
		events := func() error {
			return w.Ledger.Events(w.Ctx, "moutai", func(page []sale.Event) error {
				if len(page) == 0 {
					t.Error("a page without an event")
				}
				return nil
			})
		}
		db.ResetUsage()
		if err := events(); err != nil {
			t.Fatal(err)
		}
		if n := db.Calls()["Query"]; n != 3 { // two buckets and the refunds
			t.Errorf("%d queries, want 3", n)
		}
		db.Fault = func(c dynamotest.Call) dynamotest.Fault {
			if c.Op == "Query" && strings.HasPrefix(c.Keys[0], partition) {
				return dynamotest.Fault{Kind: dynamotest.ServerError}
			}
			return dynamotest.Fault{}
		}
		w.Refused(sale.Busy, events())
	}
}
