package ledger_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

var errNotAdmitted = sale.Refuse(sale.NotEligible, "not this user")

// asks makes a purchase with a CheckUser that refuses, and returns the end of the sale
// passed to it, zero if it was not called.
func asks(t *testing.T, book *ledger.Ledger, r ledger.Request) (p ledger.PurchaseResult, closesAt time.Time, err error) {
	t.Helper()
	r.CheckUser = func(_ context.Context, end time.Time) error {
		if !closesAt.IsZero() {
			t.Error("asked twice")
		}
		closesAt = end
		return errNotAdmitted
	}
	p, err = book.Purchase(t.Context(), r)
	if asked := !closesAt.IsZero(); asked != errors.Is(err, errNotAdmitted) || asked && (p.Claim.ID != "" || p.Tries != 0) {
		t.Errorf("asked %t: %+v, %v", asked, p, err)
	}
	return p, closesAt, err
}

// selling is a ledger by the clock of the test, with a sale of so many units for an hour.
func selling(t *testing.T, opensAt time.Time, stock int64) (*ledger.Ledger, *dynamotest.DB) {
	t.Helper()
	db := newDB()
	book := ledger.New(db, table, ledger.Options{})
	c := sale.Creation{SaleID: "moutai", Stock: stock, Shards: 1, OpensAt: opensAt, ClosesAt: opensAt.Add(time.Hour)}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	if _, err := book.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return book, db
}

func TestAUserIsAskedAboutOnlyWhenTheTransactionIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opensAt := time.Now().Add(time.Minute)
		book, db := selling(t, opensAt, 2)
		elsewhere := func() *ledger.Ledger { return ledger.New(db, table, ledger.Options{}) }
		alice := ledger.Request{SaleID: "moutai", User: "alice", Key: "k1"}
		if _, _, err := asks(t, elsewhere(), ledger.Request{SaleID: "nowhere", User: "alice"}); sale.CodeOf(err) != sale.SaleNotFound {
			t.Errorf("no such sale: %v", err)
		}
		if _, _, err := asks(t, elsewhere(), alice); sale.CodeOf(err) != sale.NotOpen {
			t.Errorf("before it opens: %v", err)
		}
		time.Sleep(time.Minute)
		before := db.Dump()
		if _, end, _ := asks(t, elsewhere(), alice); !end.Equal(opensAt.Add(time.Hour)) {
			t.Errorf("open, with stock: asked with the end %v, want %v", end, opensAt.Add(time.Hour))
		}
		if after := db.Dump(); after != before {
			t.Errorf("a user who is not admitted changed the table from\n%s\nto\n%s", before, after)
		}
		bought, err := book.Purchase(t.Context(), alice)
		if err != nil {
			t.Fatal(err)
		}
		before = db.Dump()

		if p, _, err := asks(t, elsewhere(), alice); err != nil || p.Claim.ID != bought.Claim.ID || p.New {
			t.Errorf("the same key: %+v, %v; want the claim", p, err)
		}
		other := alice
		other.Key = "k2"
		if p, _, err := asks(t, elsewhere(), other); sale.CodeOf(err) != sale.AlreadyOrdered || p.Claim.ID != bought.Claim.ID {
			t.Errorf("another key: %+v, %v; want already ordered", p, err)
		}
		other.Key = ""
		if _, end, _ := asks(t, elsewhere(), other); end.IsZero() {
			t.Error("no key, an environment that knows nothing: not asked")
		}
		calls := db.Calls()["GetItem"]
		if _, _, err := asks(t, book, other); sale.CodeOf(err) != sale.AlreadyOrdered || db.Calls()["GetItem"] != calls {
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
		if _, _, err := asks(t, elsewhere(), ledger.Request{SaleID: "moutai", User: "carol", Key: "k3"}); sale.CodeOf(err) != sale.SoldOut {
			t.Errorf("sold out: %v", err)
		}
		if p, _, err := asks(t, elsewhere(), alice); err != nil || p.Claim.ID != bought.Claim.ID {
			t.Errorf("sold out, for the holder of a claim: %+v, %v", p, err)
		}
		db.Fault = func(dynamotest.Call) dynamotest.Fault { return dynamotest.Fault{Kind: dynamotest.Throttle} }
		if _, _, err := asks(t, elsewhere(), alice); sale.CodeOf(err) != sale.Busy {
			t.Errorf("a table that does not answer: %v, want busy (P5)", err)
		}
	})
}

func TestASaleThatEndsWhileAUserIsAskedAboutCostsNoTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book, db := selling(t, time.Now(), 2)
		transactions, before := db.Calls()["TransactWriteItems"], db.Dump()
		p, err := book.Purchase(t.Context(), ledger.Request{SaleID: "moutai", User: "alice", CheckUser: func(context.Context, time.Time) error {
			if db.Dump() != before {
				t.Error("whoever waits for the check holds a unit")
			}
			time.Sleep(2 * time.Hour)
			return nil
		}})
		if sale.CodeOf(err) != sale.Closed || p.Tries != 0 || db.Calls()["TransactWriteItems"] != transactions {
			t.Errorf("%+v, %v after %d transactions; want closed after none", p, err, db.Calls()["TransactWriteItems"]-transactions)
		}
	})
}

func TestAPassReadsEveryBucketOnceAndTheShardsTwiceButOnlyTheShardsWhileNothingIsSold(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(40, 16) // four buckets
	a := &ledger.Audit{SaleID: "moutai"}
	whole, idle := map[string]int{"GetItem": 1, "Query": 4, "BatchGetItem": 2}, map[string]int{"GetItem": 1, "BatchGetItem": 1}
	for pass, want := range []map[string]int{whole, idle, idle, whole, whole} {
		if pass == 3 {
			if _, err := w.Buy("alice"); err != nil {
				t.Fatal(err)
			}
		}
		db.ResetUsage()
		if r, err := w.Ledger.Step(w.Ctx, a, func(sale.Claim) {}); err != nil || !r.Balanced {
			t.Fatalf("pass %d: got %+v (%v)", pass, r, err)
		}
		if diff := cmp.Diff(want, db.Calls()); diff != "" {
			t.Errorf("pass %d: calls (-want +got):\n%s", pass, diff)
		}
		a = a.Next()
	}
}
