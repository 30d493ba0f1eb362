package ledger_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

// Plain reads may see what a claim notes of a payment to refund before they see the refund.
func TestARefundThatCannotBeSeenYetIsErasedAndArchivedLikeOthers(t *testing.T) {
	const hidden = 500 * time.Millisecond
	for _, archived := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w, db, next := faulty(t)
			db.Now = time.Now
			c := w.Open(4, 1)
			id := w.Ordered("alice")[0]
			w.Settles(ledgertest.PaymentOf(id, "pi_1"))
			w.Pass(c.ClosesAt.Sub(w.Now()) + ledger.DrainAfter)
			drain(w, "moutai")
			paid := make(chan error, 1)
			isPaidAgain := func() {
				next(dynamotest.Fault{}, dynamotest.Fault{Hidden: []int{1}, HiddenFor: hidden, ReplyDelay: hidden}) // the order is paid: the second records it
				go func() { _, err := w.Environment().Pay(w.Ctx, ledgertest.PaymentOf(id, "pi_2")); paid <- err }()
				time.Sleep(hidden / 6)
			}
			if archived {
				w.Pass(maintenance.ArchiveAfter)
				var file bytes.Buffer
				if _, err := maintenance.Of(w.Environment()).WriteArchive(w.Ctx, "moutai", &file); err != nil {
					t.Fatal(err)
				}
				opened := 0
				if _, err := maintenance.Of(w.Environment()).DeleteArchived(w.Ctx, "moutai", func() (io.ReadCloser, error) {
					if opened++; opened == 2 { // the sale has been compared with the file
						isPaidAgain()
					}
					return io.NopCloser(bytes.NewReader(file.Bytes())), nil
				}); err != nil {
					t.Fatal(err)
				}
			} else {
				isPaidAgain()
				w.Refused(sale.Conflicting, maintenance.Of(w.Environment()).Erase(w.Ctx, "alice", func(maintenance.Held) { t.Error("erased while a refund is due") }))
			}
			if err := <-paid; err != nil {
				t.Fatal(err)
			}
			time.Sleep(hidden)
			if !archived {
				if _, _, err := w.Environment().MarkRefunded(w.Ctx, "moutai", "stripe#pi_2"); err != nil {
					t.Fatal(err)
				}
				if err := maintenance.Of(w.Environment()).Erase(w.Ctx, "alice", func(maintenance.Held) {}); err != nil {
					t.Fatal(err)
				}
			}
			if !namesNoAlice(w, db) {
				t.Errorf("archived %t: the table names the user:\n%s", archived, db.Dump())
			}
		})
	}
}

// A sale of a million orders is deleted in minutes only if its transactions are full.
func TestAnArchiveDeletesAHundredItemsInATransaction(t *testing.T) {
	w, db, _ := faulty(t)
	c := w.Open(850, 1)
	users := make([]string, c.Stock)
	for i := range users {
		users[i] = fmt.Sprint("user-", i)
	}
	w.Ordered(users...)
	w.Pass(c.ClosesAt.Sub(w.Now()) + ledger.DrainAfter)
	drain(w, "moutai")
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
