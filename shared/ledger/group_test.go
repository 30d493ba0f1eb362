package ledger_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// inGroup opens size-38 and size-39, sales of one unit and one group.
func inGroup(w *ledgertest.World) {
	for _, id := range []string{"size-38", "size-39"} {
		c := w.Sale(1, 1)
		c.SaleID, c.LimitGroup = id, "shoe"
		w.Create(c)
	}
}

// What an item of the transaction may answer, as far as it is shown.
const (
	shown    = ""
	hidden   = "None"
	conflict = "TransactionConflict"
)

// DynamoDB may cancel a transaction for one item before the others have answered. In each
// world of the user all combinations of answers are shown once; then the truth is.
func TestEveryCancellationOfAPurchaseInAGroup(t *testing.T) {
	buy := func(w *ledgertest.World, saleID, user string) {
		w.Accepted(w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: saleID, User: user}))
	}
	for _, world := range []struct {
		name                string
		prepare             func(*ledgertest.World)
		lost                bool // the call's first try succeeds, but without an answer
		stock, claim, guard bool // whose condition fails
		truth               sale.Code
		otherSale           string
	}{
		{"new, a unit left", func(*ledgertest.World) {}, false, false, false, false, "", ""},
		{"new, sold out", func(w *ledgertest.World) { buy(w, "size-38", "bob") }, false, true, false, false, sale.SoldOut, ""},
		{"holds the last unit", func(w *ledgertest.World) { buy(w, "size-38", "alice") }, false, true, true, true, sale.AlreadyOrdered, ""},
		{"has just got the last unit", func(*ledgertest.World) {}, true, true, true, true, "", ""},
		{"ordered in the other sale, a unit left", func(w *ledgertest.World) { buy(w, "size-39", "alice") },
			false, false, false, true, sale.AlreadyOrdered, "size-39"},
		{"ordered in the other sale, sold out", func(w *ledgertest.World) { buy(w, "size-39", "alice"); buy(w, "size-38", "bob") },
			false, true, false, true, sale.AlreadyOrdered, "size-39"},
	} {
		for n := range 27 {
			codes := []string{shown, hidden, conflict}
			codes = []string{codes[n%3], codes[n/3%3], codes[n/9]}
			failed := func(i int, fails bool) bool { return fails && codes[i] == shown }
			want := world.truth
			switch {
			case failed(1, world.claim) || failed(2, world.guard) || slices.Contains(codes, conflict):
			case world.lost:
				want = sale.Busy
			case !failed(0, world.stock):
				want = sale.Internal // cancelled, and no item says why
			case world.truth == "" || world.claim:
				// The look before a refusal finds the claim.
			default:
				want = sale.SoldOut
			}
			synctest.Test(t, func(t *testing.T) {
				w, db, next := faulty(t)
				inGroup(w)
				world.prepare(w)
				faults := []dynamotest.Fault{{Kind: dynamotest.Cancel, Codes: codes}}
				if world.lost {
					faults = []dynamotest.Fault{{Kind: dynamotest.LostReply}, faults[0]}
				}
				next(faults...)
				p, err := w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "size-38", User: "alice"})
				db.Fault = nil
				var e *sale.Error
				if code := sale.CodeOf(err); code != want {
					t.Fatalf("%s, answers %q: %q (%v), want %q", world.name, codes, code, err, want)
				} else if e = w.Refused(want, err); e == nil {
					e = &sale.Error{}
				}
				other := ""
				if want == sale.AlreadyOrdered {
					other = world.otherSale
				}
				if e.OtherSale != other || (e.Claim != nil) != (want == sale.AlreadyOrdered && other == "") || p.New != (want == "") {
					t.Errorf("%s, answers %q: %+v, %+v", world.name, codes, p, e)
				}
			})
		}
	}
}

func TestAGuardWhoseClaimIsNotShownYetIsNoRefusal(t *testing.T) {
	w, db, _ := faulty(t)
	inGroup(w)
	w.Accepted(w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "size-38", User: "alice"}))
	remove(t, db, "CLAIM#size-38#0", "alice")
	p, err := w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "size-38", User: "alice"})
	w.Refused(sale.Busy, err)
	if p.Tries != 6 {
		t.Errorf("%d tries, want 6", p.Tries)
	}
}

func TestAGroupIsReadOnceInTwoSeconds(t *testing.T) {
	w, db, _ := faulty(t)
	inGroup(w)
	for _, group := range []string{"shoe", "none"} {
		_, first := w.Ledger.Group(w.Ctx, group)
		db.ResetUsage()
		if _, err := w.Ledger.Group(w.Ctx, group); fmt.Sprint(err) != fmt.Sprint(first) || len(db.Calls()) > 0 {
			t.Errorf("%s: %v after %v, with the calls %v", group, err, first, db.Calls())
		}
		w.Pass(2 * time.Second)
		if _, _ = w.Ledger.Group(w.Ctx, group); db.Calls()["GetItem"] == 0 {
			t.Errorf("%s is not read again", group)
		}
	}
}
