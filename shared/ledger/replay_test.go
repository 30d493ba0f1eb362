package ledger_test

import (
	"fmt"
	"testing"

	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

func TestAReplayListsAtMost1000ClaimsOfASaleThatHaveNoUnit(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(1, 1)
	lost := maintenance.Lost{RestoredTo: w.Now()}
	for i := range 1002 {
		lost.Claims = append(lost.Claims, sale.Claim{SaleID: "moutai", User: fmt.Sprint("user-", i), ID: fmt.Sprint("claim-", i), AcceptedAt: w.Now()})
	}
	done, err := maintenance.Of(w.Environment()).Replay(w.Ctx, db, lost, false)
	if err != nil || done.Claims != len(lost.Claims) || len(done.Oversold) != 1000 {
		t.Errorf("%d claims, %d of them are listed (%v)", done.Claims, len(done.Oversold), err)
	}
}

func TestWhatATableLackedIsTheSumOfAllKinds(t *testing.T) {
	r := maintenance.Replayed{Claims: 1, Guards: 2, OrderIDs: 4, Orders: 8, Payments: 16, Releases: 32, Refunds: 64, Additions: 128, Halves: 256, Shards: 512}
	if n := r.Missing(); n != 1023 {
		t.Errorf("%d lack, want 1023", n)
	}
}
