package ledger_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// cutOff is a ledger that ends after so many transactions.
func cutOff(w *ledgertest.World, transactions int) (context.Context, *ledger.Ledger) {
	ctx, cancel := context.WithCancel(w.Ctx)
	return ctx, w.Hooked(dynamotest.After("TransactWriteItems", func() {
		if transactions--; transactions == 0 {
			cancel()
		}
	}))
}

func TestAWithdrawalCostsATransactionPerShardAndItsRepeatNone(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(8, 4)
	for _, want := range []map[string]int{
		// The sale, before and after; the receipts; the shards; the announcement, and a step for each shard.
		{"GetItem": 2, "Query": 1, "BatchGetItem": 1, "TransactWriteItems": 1 + 4},
		{"GetItem": 2, "Query": 1, "TransactWriteItems": 1},
	} {
		db.ResetUsage()
		got, err := w.Ledger.Withdraw(w.Ctx, sale.Withdrawal{SaleID: "moutai", SeedID: "typo", Stock: 4})
		if err != nil || got.Units != 4 {
			t.Fatalf("got %+v (%v), want 4 units", got, err)
		}
		if diff := cmp.Diff(want, db.Calls()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	}
	for step := range 4 {
		if w.Item("SALE#moutai", fmt.Sprintf("WITHDRAWN#typo#%d", step)) == nil {
			t.Errorf("there is no step %d", step)
		}
	}
}

func TestAWithdrawalLooksNoSecondTimeAtTheShardsIfAUnitWasSoldMeanwhile(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(3, 1)
	overtaken := w.Hooked(dynamotest.After("BatchGetItem", sync.OnceFunc(func() { w.Accepted(w.Buy("alice")) })))
	db.ResetUsage()
	got, err := overtaken.Withdraw(w.Ctx, sale.Withdrawal{SaleID: "moutai", SeedID: "typo", Stock: 2})
	if err != nil || got.Units != 2 || db.Calls()["BatchGetItem"] != 1 {
		t.Errorf("got %+v (%v) after %d looks, want 2 units after one", got, err, db.Calls()["BatchGetItem"])
	}
}

func TestAWithdrawalWhoseRepeatTookMoreInItsStepTakesOnlyTheRest(t *testing.T) {
	w, _, _ := faulty(t)
	w.Open(9, 3)
	overtaken := w.Hooked(dynamotest.After("BatchGetItem", sync.OnceFunc(func() {
		for i := range 5 { // all of them to the first shard, which then has to give most
			if _, err := w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: fmt.Sprint("s", i), Stock: 1}); err != nil {
				t.Fatal(err)
			}
		}
		ctx, repeat := cutOff(w, 2) // the announcement and a step
		if _, err := repeat.Withdraw(ctx, sale.Withdrawal{SaleID: "moutai", SeedID: "typo", Stock: 7}); err == nil {
			t.Fatal("the repeat was not cut off")
		}
	})))
	got, err := overtaken.Withdraw(w.Ctx, sale.Withdrawal{SaleID: "moutai", SeedID: "typo", Stock: 7})
	if err != nil || got.Units != 7 || got.Seeded != 9+5-7 {
		t.Errorf("got %+v (%v), want 7 units", got, err)
	}
	w.Balanced(3)
}
