package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"flashsale/shared/ledger"
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
	// It never closes a shard blindly, so the call to close one follows from what it read.
	careful := ledger.New(db, table, ledger.Options{Now: w.Now, Random: func() float64 { return 0.5 }})
	for i := range 3 {
		w.Accepted(careful.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: userOf(0, fmt.Sprint("early", i))}))
	}
	w.Pass(200 * time.Millisecond)
	calls("first to notice", careful, userOf(0, "first"), map[string]int{"TransactWriteItems": 2, "GetItem": 1, "UpdateItem": 1})
	calls("noticed by others", late, userOf(0, "late"), map[string]int{"TransactWriteItems": 2, "GetItem": 1})
	w.Balanced(2)
}
