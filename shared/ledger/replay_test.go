package ledger_test

import (
	"testing"

	"flashsale/shared/ledger/maintenance"
)

func TestWhatATableLackedIsTheSumOfAllKinds(t *testing.T) {
	r := maintenance.Replayed{Claims: 1, Guards: 2, OrderIDs: 4, Orders: 8, Payments: 16, Releases: 32, Refunds: 64, Additions: 128, Halves: 256, Shards: 512}
	if n := r.Missing(); n != 1023 {
		t.Errorf("%d lack, want 1023", n)
	}
}
