package ledgertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

var refunding = map[string]func(*testing.T, *World){
	"many refunds are marked at once, in somebody's name, and listed page by page": func(t *testing.T, w *World) {
		w.OpenPriced(5, 1)
		id := w.Ordered("alice")[0]
		for n := range 5 {
			w.Settles(PaymentOf(id, fmt.Sprint("pi_", n)))
		}
		w.Settles(PaymentOf(0, "pi_x"))
		w.marksRefunded("moutai", "stripe#pi_1")
		for _, saleID := range []string{"moutai", "", ""} { // the guard says whose it is
			for i, m := range w.Ledger.MarkRefunds(w.Ctx, saleID, []string{"stripe#pi_1", "stripe#pi_2", "stripe#pi_2", "stripe#PI_2", "pi_3", "stripe#pi_0", "stripe#pi_9", "stripe#" + strings.Repeat("9", 2048)}, "kim") {
				marks, known := i == 1 && saleID == "moutai", i < 3
				if m.Marked != marks || m.Doubled != (i == 2) || (m.Err == nil) != known || known && !m.Doubled && m.Refund.RefundedAt.IsZero() {
					t.Errorf("in %q got %+v", saleID, m)
				}
			}
		}
		m := w.Ledger.MarkRefunds(w.Ctx, "", []string{"stripe#pi_x"}, "kim")[0]
		check(t, m.Marked && m.Refund.RefundedBy == "kim", "of an unknown order got %+v", m)
		var got []string
		for after, more := "", true; more; more = after != "" {
			page, next, unreadable, err := w.Ledger.RefundPage(w.Ctx, "moutai", after, 3)
			if err != nil || unreadable != 0 || len(page) > 3 {
				t.Fatal(page, unreadable, err)
			}
			for _, r := range page {
				got = append(got, strings.TrimSpace(fmt.Sprint(r.Payment, " ", !r.RefundedAt.IsZero(), " ", r.RefundedBy)))
			}
			after = next
		}
		want := "stripe#pi_1 true, stripe#pi_2 true kim, stripe#pi_3 false, stripe#pi_4 false"
		check(t, strings.Join(got, ", ") == want, "got %q, want %q", got, want)
	},
	"what cannot be its order's payment is a refund due, once": func(t *testing.T, w *World) {
		w.OpenPriced(5, 1)
		ids := w.Ordered("alice", "bob", "carol")
		w.Settles(PaymentOf(ids[0], "pi_1"))
		w.refunded(PaymentOf(ids[0], "pi_2"), "moutai", "alice", sale.RefundOtherPayment)
		other := PaymentOf(ids[0], "pi_1")
		other.Provider = "other"
		w.refunded(other, "moutai", "alice", sale.RefundOtherPayment)
		less := PaymentOf(ids[1], "pi_3")
		less.Amount--
		w.refunded(less, "moutai", "bob", sale.RefundAmount)
		dollars := PaymentOf(ids[1], "pi_4")
		dollars.Currency = "USD"
		w.refunded(dollars, "moutai", "bob", sale.RefundAmount)
		elsewhere := PaymentOf(ids[1], "pi_5")
		elsewhere.SaleID = "maotai"
		w.refunded(elsewhere, "", "", sale.RefundUnknownOrder)
		w.refunded(PaymentOf(0, "pi_6"), "", "", sale.RefundUnknownOrder)
		unnamed := PaymentOf(ids[1], "pi_7")
		unnamed.SaleID = ""
		done := w.Settles(unnamed)
		check(t, done.Refund == nil, "got %+v: the order id alone names the order", done.Refund)
		w.states(map[string]sale.ClaimState{"alice": sale.Paid, "bob": sale.Paid, "carol": sale.Confirmed})
		for saleID, want := range map[string]string{
			"moutai": "other#pi_1 other-payment, stripe#pi_2 other-payment, stripe#pi_3 amount, stripe#pi_4 amount",
			"":       "stripe#pi_5 unknown-order, stripe#pi_6 unknown-order", "maotai": "",
		} {
			refunds, err := w.Ledger.Refunds(w.Ctx, saleID)
			var got []string
			for _, r := range refunds {
				got = append(got, r.Payment+" "+string(r.Reason))
			}
			check(t, strings.Join(got, ", ") == want && err == nil, "sale %q: got %q (%v), want %q", saleID, got, err, want)
		}
	},
	// A table may be restored to within a transaction: a replay completes it, and no report before that
	// takes it for a payment of which nothing is known.
	"a refund whose guard was not restored stays as it is": func(_ *testing.T, w *World) {
		w.OpenPriced(5, 1)
		other := PaymentOf(w.Ordered("alice")[0], "pi_1")
		other.Amount--
		w.refunded(other, "moutai", "alice", sale.RefundAmount)
		w.marksRefunded("moutai", "stripe#pi_1")
		w.remove(w.Item("PAYMENT#stripe#pi_1", "PAYMENT"))
		before := w.everything()
		w.Refused(sale.Internal, errOf(w.Environment().Pay(w.Ctx, other)))
		w.unchanged(before)
	},
	"a listing notes a refund if the one that it notes is older than an hour": func(t *testing.T, w *World) {
		w.OpenUnpaid(5, 1)
		id := w.Ordered("alice")[0]
		w.Settles(PaymentOf(id, "pi_0"))
		start := w.Now()
		for i, tt := range []struct{ passes, noted time.Duration }{
			{0, 0}, {time.Minute, 0}, {59 * time.Minute, 0}, {time.Millisecond, time.Hour + time.Millisecond},
		} {
			w.Pass(tt.passes)
			if done := w.Settles(PaymentOf(id, fmt.Sprint("pi_", i+1))); done.Refund == nil {
				t.Fatalf("got %+v, want a refund", done)
			}
			w.hasNumber(start.Add(tt.noted).UnixMilli(), "SALES", "moutai", "refundAt")
		}
	},
	"the list of sales forgets a refund that is done, but none that is due or was noted since": func(t *testing.T, w *World) {
		w.OpenUnpaid(5, 1)
		id := w.Ordered("alice")[0]
		w.Settles(PaymentOf(id, "pi_0"))
		counts := func(notedAt time.Time) {
			t.Helper()
			w.Succeeds(nil, w.Ledger.CountRefunds(w.Ctx, &ledger.RefundCount{SaleID: "moutai", NotedAt: notedAt}))
		}
		notes := func(want time.Time, why string) {
			t.Helper()
			at := w.Listing().RefundAt
			check(t, at.Equal(want), "the listing notes %v, want %v: %s", at, want, why)
		}
		first := w.Now()
		w.Settles(PaymentOf(id, "pi_1"))
		w.marksRefunded("moutai", "stripe#pi_1")
		w.Pass(2 * time.Hour)
		second := w.Now()
		w.Settles(PaymentOf(id, "pi_2"))
		w.marksRefunded("moutai", "stripe#pi_2")
		counts(first)
		notes(second, "it was noted since")
		w.Pass(time.Hour + ledger.DrainAfter - time.Millisecond)
		counts(second)
		notes(second, "a slow clock may rely on it")
		w.Pass(time.Millisecond)
		ctx, busy := w.cutAfter(0)
		w.Succeeds(nil, busy.CountRefunds(ctx, &ledger.RefundCount{SaleID: "moutai", NotedAt: second})) // which only costs the next count
		counts(second)
		notes(time.Time{}, "it is done")
		third := w.Now()
		w.Settles(PaymentOf(id, "pi_3"))
		w.Pass(2 * time.Hour)
		s := sale.Sending{ID: sale.SendingID(w.Now(), "press")}
		taken, _, err := w.Environment().TakeRefund(w.Ctx, w.refunds("moutai")[2], &s, "live")
		w.Succeeds(nil, err)
		w.Reports(disputed("pi_3", sale.DisputeOpen, 1))
		counts(third)
		notes(third, "it was sent, and nobody knows what became of it")
		w.Succeeds(w.Environment().NoteSent(w.Ctx, taken, taken.Sent.Freed("busy", ""), nil))
		w.Reports(disputed("pi_3", sale.DisputeWon, 2))
		third = w.Now()
		w.Pass(2 * time.Hour)
		counts(third)
		notes(third, "it is due")
		w.marksRefunded("moutai", "stripe#pi_3")
		w.tamper("REFUND#moutai", "stripe#pi_3", "REMOVE amount", nil)
		w.Refused(sale.Internal, w.Ledger.CountRefunds(w.Ctx, &ledger.RefundCount{SaleID: "moutai", NotedAt: third}))
		notes(third, "it cannot be read, and may be due")
	},
	"a refund is marked once": func(t *testing.T, w *World) {
		w.OpenUnpaid(5, 1)
		w.Settles(PaymentOf(0, "pi_1"))
		w.Refused(sale.OrderNotFound, w.Ledger.MarkRefunds(w.Ctx, "moutai", []string{"stripe#pi_1"}, "")[0].Err)
		at := w.Now()
		for _, isFirst := range []bool{true, false} {
			m := w.Ledger.MarkRefunds(w.Ctx, "", []string{"stripe#pi_1"}, "")[0]
			check(t, m.Err == nil && m.Marked == isFirst && m.Refund.RefundedAt.Equal(at), "got %+v, want it marked: %t", m, isFirst)
			w.Pass(time.Minute)
		}
		done := w.Settles(PaymentOf(0, "pi_1"))
		check(t, done.Refund != nil && done.Refund.RefundedAt.Equal(at), "a report of a payment that was refunded: %+v", done)
		w.hasNoItem("REFUND#moutai", "stripe#pi_1")
		for i, later := range []time.Duration{time.Second, 0} { // a mark of the same instant is another's, too, if it has another name
			payment := fmt.Sprint("stripe#pi_lost_", i)
			w.Settles(PaymentOf(0, fmt.Sprint("pi_lost_", i)))
			isLost := false
			slow := w.Hooked(func(op string, _ any, call func() (any, error)) (any, error) {
				if op != "UpdateItem" || isLost {
					return call()
				}
				isLost = true
				w.Pass(later)
				w.Succeeds(nil, w.Environment().MarkRefunds(w.Ctx, "", []string{payment}, "lee")[0].Err)
				return nil, errDead
			})
			if m := slow.MarkRefunds(w.Ctx, "", []string{payment}, "kim")[0]; m.Err != nil || m.Marked || m.Refund.RefundedBy != "lee" {
				t.Errorf("marked by another %v after a call that was lost: %+v, want it to be theirs", later, m)
			}
		}
	},
	"a claim notes its first refunds, and all of them are recorded": func(t *testing.T, w *World) {
		w.OpenUnpaid(5, 1)
		id := w.Ordered("alice", "bob")[0]
		if refunds, err := w.Ledger.RefundsOf(w.Ctx, w.claimOf("alice")); err != nil || len(refunds) != 0 {
			t.Errorf("got %+v (%v), want none", refunds, err)
		}
		const noted = 20
		for i := range noted + 3 {
			w.Settles(PaymentOf(id, fmt.Sprintf("pi_%02d", i)))
			w.Pass(time.Second)
		}
		w.marksRefunded("moutai", "stripe#pi_02")
		refunds, err := w.Ledger.RefundsOf(w.Ctx, w.claimOf("alice"))
		if err != nil || len(refunds) != noted {
			t.Fatalf("got %+v (%v), want %d", refunds, err, noted)
		}
		for i, r := range refunds {
			check(t, r.Payment == fmt.Sprintf("stripe#pi_%02d", i+1) && r.User == "alice" && r.RefundedAt.IsZero() == (i != 1), "refund %d is %+v", i, r)
		}
		hasLen(t, w.Partition("REFUND#moutai"), noted+2)
		c := w.claimOf("bob")
		check(t, len(c.Refunds) == 0, "bob's claim notes %v", c.Refunds)
	},
}
