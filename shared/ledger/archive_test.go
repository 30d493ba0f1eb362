package ledger_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

// A sale of a million orders is deleted in minutes only if its transactions are full.
func TestAnArchiveDeletesAHundredItemsInATransaction(t *testing.T) {
	w, db, _ := faulty(t)
	c := w.Open(850, 1)
	users := make([]string, c.Stock)
	for i := range users {
		users[i] = fmt.Sprint("user-", i)
	}
	w.Ordered(users...)
	drain(w)
	w.Pass(maintenance.ArchiveAfter)
	var file bytes.Buffer
	if _, err := maintenance.Of(w.Ledger).WriteArchive(w.Ctx, "moutai", &file); err != nil {
		t.Fatal(err)
	}
	db.ResetUsage()
	if _, err := maintenance.Of(w.Ledger).DeleteArchived(w.Ctx, "moutai", func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(file.Bytes())), nil
	}); err != nil {
		t.Fatal(err)
	}
	// Nine for the claims, nine for the orders, and one that seals the sale.
	if n := db.Calls()["TransactWriteItems"]; n != 9+9+1 {
		t.Errorf("%d transactions, want 19", n)
	}
}

// drain lets the sale end and drains it.
func drain(w *ledgertest.World) {
	w.T.Helper()
	w.Pass(w.Current().ClosesAt.Sub(w.Now()) + ledger.DrainAfter)
	r, err := w.Ledger.Step(w.Ctx, &ledger.Audit{SaleID: "moutai"}, func(sale.Claim) {})
	if err != nil || r == nil {
		w.T.Fatal(r, err)
	}
	if done, err := w.Ledger.Drain(w.Ctx, r); err != nil || !done {
		w.T.Fatalf("not drained: %+v (%v)", r, err)
	}
}
