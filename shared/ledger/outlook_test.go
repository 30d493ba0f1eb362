package ledger_test

import (
	"testing"
	"testing/synctest"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/ledger/dynamotest"
	"flashsale/shared/sale"
)

// outlook is what a new environment over the table says about a request.
func outlook(t *testing.T, db *dynamotest.DB, r ledger.Request) (ledger.Outlook, error) {
	t.Helper()
	return ledger.New(db, "Ledger", ledger.Options{}).Outlook(t.Context(), r)
}

func TestTheOutlookSaysWhatAPurchaseWouldWithoutATransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := dynamotest.New(dynamotest.Table{Name: "Ledger", PK: "pk", SK: "sk"})
		opensAt := time.Now().Add(time.Minute)
		c := sale.Creation{SaleID: "moutai", Stock: 2, Shards: 1, OpensAt: opensAt, ClosesAt: opensAt.Add(time.Hour)}
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		book := ledger.New(db, "Ledger", ledger.Options{})
		if _, err := book.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		alice := ledger.Request{SaleID: "moutai", User: "alice", Key: "k1"}
		if _, err := outlook(t, db, ledger.Request{SaleID: "nowhere", User: "alice"}); sale.CodeOf(err) != sale.SaleNotFound {
			t.Errorf("no such sale: %v", err)
		}
		if _, err := outlook(t, db, alice); sale.CodeOf(err) != sale.NotOpen {
			t.Errorf("before it opens: %v", err)
		}
		time.Sleep(time.Minute)
		if o, err := outlook(t, db, alice); err != nil || o.Claim.ID != "" || !o.ClosesAt.Equal(c.ClosesAt) {
			t.Errorf("open, with stock: %+v, %v; want nothing known", o, err)
		}
		bought, err := book.Purchase(t.Context(), alice)
		if err != nil {
			t.Fatal(err)
		}
		before := db.Dump()

		if o, err := outlook(t, db, alice); err != nil || o.Claim.ID != bought.Claim.ID || o.New {
			t.Errorf("the same key: %+v, %v; want the claim", o, err)
		}
		other := alice
		other.Key = "k2"
		if o, err := outlook(t, db, other); sale.CodeOf(err) != sale.AlreadyOrdered || o.Claim.ID != bought.Claim.ID {
			t.Errorf("another key: %+v, %v; want already ordered", o, err)
		}
		other.Key = ""
		if o, err := outlook(t, db, other); err != nil || o.Claim.ID != "" {
			t.Errorf("no key, an environment that knows nothing: %+v, %v", o, err)
		}
		calls := db.Calls()["GetItem"]
		if _, err := book.Outlook(t.Context(), other); sale.CodeOf(err) != sale.AlreadyOrdered || db.Calls()["GetItem"] != calls {
			t.Errorf("no key, the environment that sold it: %v after %d reads, want already ordered from memory", err, db.Calls()["GetItem"]-calls)
		}

		if after := db.Dump(); after != before {
			t.Errorf("the table was changed from\n%s\nto\n%s", before, after)
		}
		if _, err := book.Purchase(t.Context(), ledger.Request{SaleID: "moutai", User: "bob"}); err != nil {
			t.Fatal(err)
		}
		if _, err := book.Purchase(t.Context(), ledger.Request{SaleID: "moutai", User: "carol"}); sale.CodeOf(err) != sale.SoldOut {
			t.Fatalf("the sale is not sold out: %v", err)
		}
		if _, err := outlook(t, db, ledger.Request{SaleID: "moutai", User: "carol", Key: "k3"}); sale.CodeOf(err) != sale.SoldOut {
			t.Errorf("sold out: %v", err)
		}
		if o, err := outlook(t, db, alice); err != nil || o.Claim.ID != bought.Claim.ID {
			t.Errorf("sold out, for the holder of a claim: %+v, %v", o, err)
		}
		db.Fault = func(dynamotest.Call) dynamotest.Fault { return dynamotest.Fault{Kind: dynamotest.Throttle} }
		if _, err := outlook(t, db, alice); sale.CodeOf(err) != sale.Busy {
			t.Errorf("a table that does not answer: %v, want busy (P5)", err)
		}
	})
}
