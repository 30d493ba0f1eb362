package ledger_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// drains lets the sale end and drains it.
func drains(w *ledgertest.World, c sale.Creation) {
	w.T.Helper()
	w.Pass(c.ClosesAt.Sub(w.Now()) + ledger.DrainAfter)
	r, err := w.Ledger.Step(w.Ctx, &ledger.Audit{SaleID: "moutai"}, func(sale.Claim) {})
	if err != nil || r == nil {
		w.T.Fatalf("%+v (%v)", r, err)
	}
	if done, err := w.Ledger.Drain(w.Ctx, r); !done || err != nil {
		w.T.Fatalf("not drained: %+v (%v)", r, err)
	}
}

// namesNobody expects that no item of the table has the text of that user.
func namesNobody(w *ledgertest.World, db *dynamotest.DB, user string) {
	w.T.Helper()
	out, err := db.Scan(w.Ctx, &dynamodb.ScanInput{TableName: aws.String(table), ConsistentRead: aws.Bool(true)})
	if err != nil {
		w.T.Fatal(err)
	}
	for _, it := range out.Items {
		raw, err := json.Marshal(it)
		if err != nil {
			w.T.Fatal(err)
		}
		if bytes.Contains(raw, []byte(user)) {
			w.T.Errorf("an item names %s: %s", user, raw)
		}
	}
}

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
			drains(w, c)
			paid := make(chan error, 1)
			isPaidAgain := func() {
				next(dynamotest.Fault{}, dynamotest.Fault{Hidden: []int{1}, HiddenFor: hidden, ReplyDelay: hidden}) // the order is paid: the second records it
				go func() { _, err := w.Environment().Pay(w.Ctx, ledgertest.PaymentOf(id, "pi_2")); paid <- err }()
				time.Sleep(hidden / 6)
			}
			if archived {
				w.Pass(ledger.ArchiveAfter)
				var file bytes.Buffer
				if _, err := w.Environment().WriteArchive(w.Ctx, "moutai", &file); err != nil {
					t.Fatal(err)
				}
				opened := 0
				if _, err := w.Environment().DeleteArchived(w.Ctx, "moutai", func() (io.ReadCloser, error) {
					if opened++; opened == 2 { // the sale has been compared with the file
						isPaidAgain()
					}
					return io.NopCloser(bytes.NewReader(file.Bytes())), nil
				}); err != nil {
					t.Fatal(err)
				}
			} else {
				isPaidAgain()
				w.Refused(sale.Conflicting, w.Environment().Erase(w.Ctx, "alice", func(ledger.Held) { t.Error("erased while a refund is due") }))
			}
			if err := <-paid; err != nil {
				t.Fatal(err)
			}
			time.Sleep(hidden)
			if !archived {
				if _, _, err := w.Environment().MarkRefunded(w.Ctx, "moutai", "stripe#pi_2"); err != nil {
					t.Fatal(err)
				}
				if err := w.Environment().Erase(w.Ctx, "alice", func(ledger.Held) {}); err != nil {
					t.Fatal(err)
				}
			}
			namesNobody(w, db, "alice")
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
	drains(w, c)
	w.Pass(ledger.ArchiveAfter)
	var file bytes.Buffer
	if _, err := w.Ledger.WriteArchive(w.Ctx, "moutai", &file); err != nil {
		t.Fatal(err)
	}
	db.ResetUsage()
	if _, err := w.Ledger.DeleteArchived(w.Ctx, "moutai", func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(file.Bytes())), nil
	}); err != nil {
		t.Fatal(err)
	}
	// Nine for the claims, nine for the orders, and one that seals the sale.
	if n := db.Calls()["TransactWriteItems"]; n != 9+9+1 {
		t.Errorf("%d transactions, want 19", n)
	}
}
