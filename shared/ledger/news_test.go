package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

func TestAnEmptyShardIsReadAboutBeforeItIsClosedAgain(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(6, 2)
	late := w.Environment()
	if _, err := late.Sale(w.Ctx, "moutai"); err != nil { // its snapshot: nothing is empty
		t.Fatal(err)
	}
	calls := func(what string, l *ledger.Ledger, user string, want map[string]int) {
		t.Helper()
		db.ResetUsage()
		p := w.Accepted(l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: user}))
		if p.Claim.Shard != 1 {
			t.Errorf("%s: took shard %d, want 1", what, p.Claim.Shard)
		}
		if got := fmt.Sprint(db.Calls()); got != fmt.Sprint(want) {
			t.Errorf("%s: calls %v, want %v", what, got, want)
		}
	}
	first := w.Environment()
	for i := range 3 {
		w.Accepted(first.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: userOf(0, fmt.Sprint("early", i))}))
	}
	w.Pass(200 * time.Millisecond)
	calls("first to notice", first, userOf(0, "first"), map[string]int{"TransactWriteItems": 2, "GetItem": 1, "UpdateItem": 1})
	calls("noticed by others", late, userOf(0, "late"), map[string]int{"TransactWriteItems": 2, "GetItem": 1})
	w.Balanced(2)
}

// Where reads are scarce somebody must write, but no environment six times.
func TestAnEmptyShardIsClosedByOneTryIfTheSaleCannotBeRead(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(6, 2)
	l := w.Environment()
	if _, err := l.Sale(w.Ctx, "moutai"); err != nil {
		t.Fatal(err)
	}
	if err := db.Tamper(w.Ctx, table, "STOCK#moutai#0", "STOCK", "stock", -3); err != nil {
		t.Fatal(err)
	}
	w.Pass(200 * time.Millisecond)
	db.Fault = func(c dynamotest.Call) dynamotest.Fault {
		if c.Op != "TransactWriteItems" {
			return dynamotest.Fault{Kind: dynamotest.Throttle}
		}
		return dynamotest.Fault{}
	}
	db.ResetUsage()
	w.Accepted(l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: userOf(0, "alice")}))
	if got, want := fmt.Sprint(db.Calls()), fmt.Sprint(map[string]int{"GetItem": 1, "TransactWriteItems": 2, "UpdateItem": 1}); got != want {
		t.Errorf("calls %v, want %v", got, want)
	}
}

// Its write says that the sale has another version, but not what it says of the shards.
func TestAClosingOfAnotherVersionThatCannotBeReadIsATry(t *testing.T) {
	const shards = 50
	w, db, _ := faulty(t)
	w.Open(shards, shards)
	// It does not wait between its tries, so its snapshot stays new enough to write without another read.
	l := ledger.New(db, table, ledger.Options{Now: w.Now, Random: func() float64 { return 0 }})
	if _, err := l.Sale(w.Ctx, "moutai"); err != nil {
		t.Fatal(err)
	}
	for k := range shards {
		if err := db.Tamper(w.Ctx, table, fmt.Sprintf("STOCK#moutai#%d", k), "STOCK", "stock", -1); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Tamper(w.Ctx, table, "SALE#moutai", "SALE", "version", 1); err != nil {
		t.Fatal(err)
	}
	db.Fault = func(c dynamotest.Call) dynamotest.Fault {
		if c.Op == "GetItem" {
			return dynamotest.Fault{Kind: dynamotest.Throttle}
		}
		return dynamotest.Fault{}
	}
	db.ResetUsage()
	_, err := l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice"})
	w.Refused(sale.Busy, err)
	if got := db.Calls(); got["TransactWriteItems"] != 6 || got["UpdateItem"] != 6 {
		t.Errorf("calls %v, want six transactions and as many closings", got)
	}
}
