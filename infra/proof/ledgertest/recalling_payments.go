package ledgertest

import (
	"testing"
	"time"

	"flashsale/shared/sale"
)

// recallingPayments is what becomes of the payments of a recalled sale beside the passes of its recall.
var recallingPayments = map[string]func(*testing.T, *World){
	"a refund that a report of a recalled sale's payment records is noted in the listing, once an hour": func(t *testing.T, w *World) {
		w.OpenUnpaid(9, 2)
		var payments []sale.Payment
		for i, id := range w.Ordered("alice", "bob", "carol") {
			payments = append(payments, PaymentOf(id, []string{"pi_1", "pi_2", "pi_3"}[i]))
			w.Settles(payments[i])
		}
		w.recalls("", true)
		w.Pass(2 * time.Second)
		noted := w.Now()
		for i, wait := range []time.Duration{0, time.Hour, time.Millisecond} {
			w.Pass(wait)
			done := w.Settles(payments[i])
			check(t, done.Refund != nil && done.Refund.Reason == sale.RefundRecalled, "%s: got %+v, want a refund for the recall", payments[i].Reference, done)
			if i == 2 {
				noted = w.Now()
			}
			at := w.Listing().RefundAt
			check(t, at.Equal(noted), "after the refund of %v the listing notes one of %v, want %v", w.Now(), at, noted)
		}
	},
	"a refund that a pass records while a report of its payment does stays as it is": func(t *testing.T, w *World) {
		p, slow, at := w.refundedMeanwhile()
		if done, err := slow.Pay(w.Ctx, p); err != nil || done.Refund == nil || !done.Refund.At.Equal(at) || !done.Refund.RefundedAt.Equal(at) {
			t.Errorf("got %+v (%v), want the refund as it was at %v", done, err, at)
		}
	},
	"a payment that its provider pays back while a pass records its refund has one refund, and that is done": func(t *testing.T, w *World) {
		w.Open(9, 1)
		users := []string{"alice", "bob", "carol", "dora"} // a pass records the first one's refund alone
		ids := w.Ordered(users...)
		for i, id := range ids {
			w.Settles(PaymentOf(id, "pi_"+users[i]))
		}
		back := func(users ...string) {
			for _, user := range users {
				w.Reports(BackOf("pi_" + user))
			}
		}
		back("dora")
		w.recalls("", true)
		w.Pass(pauseSettles)
		done := w.Settles(PaymentOf(ids[3], "pi_dora"))
		check(t, done.Refund != nil && !done.Refund.RefundedAt.IsZero(), "its provider reports the payment again, and is told %+v", done)
		w.finishes(w.overtaken("TransactWriteItems", func() { back("alice", "bob") }), 0, 0, 3, true)
		for _, r := range w.refunds("moutai") {
			check(t, r.Reason == sale.RefundRecalled && r.RefundedAt.IsZero() == (r.User == "carol"), "got %+v, want only that of carol due", r)
		}
		back("carol")
		r := w.refunds("moutai")
		check(t, len(r) == 4 && !r[2].RefundedAt.IsZero(), "got %+v, want four, all of them done", r)
		w.Settled(1)
	},
	"a payment whose amount only its guard says, or only its claim, goes back as it was": func(_ *testing.T, w *World) {
		w.Open(9, 2)
		ids := w.Ordered("alice", "bob")
		p, other := PaymentOf(ids[0], "pi_1"), PaymentOf(ids[1], "pi_2")
		w.Settles(p)
		w.Settles(other)
		w.tamper("CLAIM#moutai#0", "alice", "REMOVE amount, currency", nil) // as an older version has written it
		guard := w.Item("PAYMENT#stripe#pi_2", "PAYMENT")
		w.remove(guard) // as one that sees the claim first
		w.recalls("", true)
		w.Pass(pauseSettles)
		w.finishes(w.Environment(), 0, 0, 2, true)
		w.place(guard)
		w.goesBack("alice", p, w.Now())
		w.goesBack("bob", other, w.Now())
	},
	"a payment that overtakes its release, and whose recording dies before its refund, goes back in the next pass": func(t *testing.T, w *World) {
		w.OpenUnpaid(9, 1)
		p := PaymentOf(w.Ordered("alice")[0], "pi_1")
		w.recalls("", true)
		w.Pass(pauseSettles)
		w.finishes(w.overtaken("TransactWriteItems", func() {
			ctx, dies := w.cutAfter(1)
			w.Refused(sale.Busy, errOf(dies.Pay(ctx, p)))
		}), 0, 0, 0, false)
		w.finishes(w.Environment(), 0, 0, 1, true)
		w.goesBack("alice", p, w.Now())
		w.Settled(1)
	},
}
