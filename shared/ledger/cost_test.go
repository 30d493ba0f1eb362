package ledger_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

func TestAMessageAboutAClaimThatIsNotThereCostsOneRead(t *testing.T) {
	w, db, refs := claimed(t, 1)
	refs[0].User = "nobody"
	db.ResetUsage()
	if got := w.Ledger.Confirm(w.Ctx, refs); sale.CodeOf(got[0].Err) != sale.Poison {
		t.Errorf("got %+v, want poison", got)
	}
	if diff := cmp.Diff(map[string]int{"BatchGetItem": 1}, db.Calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
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

func TestACountReadsTheSaleAgainOnlyIfNothingIsLeftInShardsThatAreNotMarkedEmpty(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(2, 1)
	for _, tt := range []struct {
		buys string
		want map[string]int
	}{
		{"alice", map[string]int{"BatchGetItem": 1}},
		{"bob", map[string]int{"BatchGetItem": 2, "GetItem": 1}}, // the second read is consistent
		{"carol", map[string]int{}},                              // finds the shard empty and marks it
	} {
		_, _ = w.Buy(tt.buys)
		reader := w.Environment()
		s, err := reader.Sale(w.Ctx, "moutai")
		if err != nil {
			t.Fatal(err)
		}
		db.ResetUsage()
		if _, err := reader.Remaining(w.Ctx, s); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, db.Calls()); diff != "" {
			t.Errorf("after %s, calls (-want +got):\n%s", tt.buys, diff)
		}
	}
}
