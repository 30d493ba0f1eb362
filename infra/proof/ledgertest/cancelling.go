package ledgertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// cancellation cancels orders for ana, whose cancellations are named by their users.
func cancellation(user string, orderID uint64, saw sale.ClaimState, unit sale.Unit) sale.Cancellation {
	return sale.Cancellation{
		SaleID: "moutai", OrderID: orderID, ChangeID: "cancels-" + user, Expected: saw, Unit: unit,
		Author: sale.Author{Actor: "ana", Verified: true, Note: "moved away"},
	}
}

// operatorCancels cancels an order, or ends the test. The same again is told the same, and changes nothing.
func (w *World) operatorCancels(user string, orderID uint64, saw sale.ClaimState, unit sale.Unit) {
	w.T.Helper()
	c := cancellation(user, orderID, saw, unit)
	w.Succeeds(nil, c.Check())
	at := w.Now()
	for _, applied := range []bool{true, false} {
		done, err := w.Environment().CancelOrder(w.Ctx, c)
		if err != nil || done.CancelledOrder != c.Entry(at) || done.Applied != applied || done.Claim.User != user || done.Claim.State() != sale.Cancelled || done.Claim.Released() == (saw == sale.Paid) {
			w.T.Fatalf("got %+v (%v), want it cancelled at %v, applied: %t", done, err, at, applied)
		}
		w.Pass(time.Second)
	}
	if entry, err := w.Environment().Cancelled(w.Ctx, w.claimOf(user)); err != nil || *entry != c.Entry(at) {
		w.T.Errorf("got %+v (%v), want %+v", entry, err, c.Entry(at))
	}
}

// mayNotCancel expects that a cancellation in that environment is refused, for that reason.
func (w *World) mayNotCancel(l *ledger.Ledger, c sale.Cancellation, code sale.Code, why string) {
	w.T.Helper()
	_, err := l.CancelOrder(w.Ctx, c)
	e := w.Refused(code, err)
	check(w.T, code != sale.ChangedMeanwhile || e.Claim != nil && e.Claim.OrderID == c.OrderID, "got %+v, want the claim with it", e)
	w.refusedBecause(why, code, err)
}

// hasCounts expects what a shard counts.
func (w *World) hasCounts(shard int, stock, released, putBack int64) {
	w.T.Helper()
	it := w.Item(fmt.Sprintf("STOCK#moutai#%d", shard), "STOCK")
	got := [...]int64{numberOf(it, "stock"), numberOf(it, "released"), numberOf(it, "putBack")}
	check(w.T, got == [...]int64{stock, released, putBack}, "shard %d has stock, released and putBack %d, want %d, %d, %d", shard, got, stock, released, putBack)
}

var cancelling = map[string]func(*testing.T, *World){
	"an order that an operator cancels is released or its payment goes back, and its unit is bought again or kept": func(t *testing.T, w *World) {
		for name, open := range map[string]func(int64, int) sale.Creation{"asks for payment": w.OpenPriced, "asks for none": w.Open} {
			w.becomes(table{})
			open(4, 1)
			users := people(4)
			ids := w.Ordered(users...)
			reader := w.claimOf(users[0]).MinReader
			for i := range 2 {
				w.Settles(PaymentOf(ids[i], fmt.Sprint("pi_", i)))
			}
			w.Refused(sale.SoldOut, w.buys("erin")) // which closes the shard
			for i, user := range users {
				unit, saw, needs := sale.UnitBack, sale.Paid, sale.ReadsOperators
				if i%2 == 1 {
					unit = sale.UnitKept
				}
				if i >= 2 {
					saw = sale.Confirmed
				}
				if i == 2 {
					needs = reader
				}
				at := w.Now()
				w.operatorCancels(user, ids[i], saw, unit)
				held := w.claimOf(user)
				if held.Unit != unit || held.MinReader != needs || held.Released() == (i < 2) || i < 2 && !held.CancelledAt.Equal(at) || i >= 2 && (!held.ReleasedAt.Equal(at) || held.ReleasedBy != sale.ByOperator) {
					t.Errorf("%s: the claim is %+v", name, held)
				}
				if i < 2 {
					w.goesBackBecause(sale.RefundCancelled, user, PaymentOf(ids[i], fmt.Sprint("pi_", i)), at)
				}
			}
			w.hasCounts(0, 2, 2, 2)
			w.hasNumber(5, "SALE#moutai", "SALE", "version")
			w.hasNumber(4, "SALE#moutai", "SALE", "cancelled")
			s := w.Current()
			check(t, !s.Empty.Has(0), "%s: the shard has units and is listed as empty", name)
			w.allBuy("erin", "frank")
			w.Refused(sale.SoldOut, w.buys("grete"))
			w.Refused(sale.AlreadyOrdered, w.buysWith(users[0], "another"))
			r, _ := w.audit()
			check(t, r.Balanced && r.Paid == 0 && r.Released == 2 && r.RefundsDue == 2 && r.Confirmed == 4, "%s: got %+v", name, r)
		}
	},
	"an order of a sale that is over and drained is cancelled, and the sale is drained again": func(t *testing.T, w *World) {
		for _, unit := range []sale.Unit{sale.UnitBack, sale.UnitKept} {
			w.becomes(table{})
			c := w.Open(2, 1)
			id := w.Ordered("alice", "bob")
			w.Settles(PaymentOf(id[1], "pi_1"))
			w.ends(c)
			w.operatorCancels("alice", id[0], sale.Confirmed, unit)
			check(t, !w.Listing().Drained, "it is drained, and its orders have changed")
			w.Pass(time.Minute)
			r := w.drains()
			w.operatorCancels("bob", id[1], sale.Paid, unit)
			check(t, !w.Listing().Drained && !w.drained(r), "it stays drained, or is by a pass that had begun before")
			at := w.Listing().RefundAt
			check(t, at.Equal(w.refunds("moutai")[0].At), "the listing notes a refund of %v", at)
			r = w.drains()
			check(t, r.RefundsDue == 1 && r.Balanced, "got %+v", r)
		}
	},
	"an order is cancelled once, and whoever comes second is told by whom": func(t *testing.T, w *World) {
		w.OpenPriced(9, 1)
		ids := w.Ordered("alice", "bob")
		w.Settles(PaymentOf(ids[0], "pi_1"))
		for i, saw := range []sale.ClaimState{sale.Paid, sale.Confirmed} {
			user := []string{"alice", "bob"}[i]
			mine := cancellation(user, ids[i], saw, sale.UnitBack)
			theirs := mine
			theirs.ChangeID, theirs.Actor = "another", "lee"
			slow := w.overtaken("TransactWriteItems", func() { w.operatorCancels(user, ids[i], saw, sale.UnitBack) })
			w.mayNotCancel(slow, theirs, sale.ChangedMeanwhile, "by ana on 2026-11-11T20:00:0")
			w.mayNotCancel(w.Environment(), theirs, sale.ChangedMeanwhile, "(moved away)")
			mine.Unit = sale.UnitKept
			w.mayNotCancel(w.Environment(), mine, sale.Conflicting, "used for another change")
		}
		w.hasCounts(0, 9, 2, 2)
		w.hasNumber(3, "SALE#moutai", "SALE", "version")
	},
	// A transaction becomes visible item by item: whose it was is not known from the claim alone.
	"whoever sees a cancelled claim and not by whom is told nothing": func(t *testing.T, w *World) {
		w.Open(9, 1)
		id := w.Ordered("alice")[0]
		w.operatorCancels("alice", id, sale.Confirmed, sale.UnitBack)
		entry := w.Item("CANCELLED#moutai", fmt.Sprint(id))
		w.remove(entry)
		w.Refused(sale.Busy, errOf(w.Environment().CancelOrder(w.Ctx, cancellation("alice", id, sale.Confirmed, sale.UnitBack))))
		w.Refused(sale.Busy, errOf(w.Environment().Cancelled(w.Ctx, w.claimOf("alice"))))
		w.recalls("", true) // which is not why
		w.Refused(sale.Busy, errOf(w.Environment().CancelOrder(w.Ctx, cancellation("alice", id, sale.Confirmed, sale.UnitBack))))
		w.place(entry)
		done, err := w.Environment().CancelOrder(w.Ctx, cancellation("alice", id, sale.Confirmed, sale.UnitBack))
		check(t, err == nil && !done.Applied, "got %+v (%v), want that it was made before", done, err)
	},
	"an order that is not as it was seen is not cancelled": func(t *testing.T, w *World) {
		w.OpenUnpaid(9, 1)
		ids := w.Ordered("alice", "bob", "carol", "dora")
		w.Settles(PaymentOf(ids[0], "pi_1"))
		w.Cancels("bob")
		for user, tt := range map[string]struct {
			saw sale.ClaimState
			is  string
		}{"alice": {sale.Confirmed, "PAID"}, "bob": {sale.Confirmed, "CANCELLED"}, "carol": {sale.Paid, "CONFIRMED"}} {
			w.mayNotCancel(w.Environment(), cancellation(user, w.claimOf(user).OrderID, tt.saw, sale.UnitBack), sale.ChangedMeanwhile, "the order is "+tt.is+" now")
		}
		pays, expires := func() { w.Settles(PaymentOf(ids[2], "pi_2")) }, func() { w.Pass(payWithin + grace); w.releases(1, 2) }
		w.mayNotCancel(w.overtaken("TransactWriteItems", pays), cancellation("carol", ids[2], sale.Confirmed, sale.UnitBack), sale.ChangedMeanwhile, "the order is PAID now")
		w.mayNotCancel(w.overtaken("TransactWriteItems", expires), cancellation("dora", ids[3], sale.Confirmed, sale.UnitBack), sale.ChangedMeanwhile, "the order is EXPIRED now")
		w.Refused(sale.OrderNotFound, errOf(w.Environment().CancelOrder(w.Ctx, cancellation("erin", ids[3]+1, sale.Confirmed, sale.UnitBack))))
		elsewhere := cancellation("alice", ids[0], sale.Paid, sale.UnitBack)
		elsewhere.SaleID = "nowhere"
		w.Refused(sale.OrderNotFound, errOf(w.Environment().CancelOrder(w.Ctx, elsewhere)))
		made := w.Partition("CANCELLED#moutai")
		check(t, len(made) == 0, "got %v, want nothing cancelled", made)
	},
	"an order of a recalled sale is the recall's, whichever is first": func(t *testing.T, w *World) {
		w.OpenUnpaid(9, 1)
		ids := w.Ordered("alice", "bob", "carol", "dora")
		for i, user := range []string{"alice", "bob"} {
			w.Settles(PaymentOf(ids[i], "pi_"+user))
		}
		w.operatorCancels("alice", ids[0], sale.Paid, sale.UnitKept)
		w.operatorCancels("carol", ids[2], sale.Confirmed, sale.UnitBack)
		w.mayNotCancel(w.overtaken("TransactWriteItems", func() { w.recalls("", true) }), cancellation("bob", ids[1], sale.Paid, sale.UnitBack), sale.Recalled, "recalled")
		w.mayNotCancel(w.Environment(), cancellation("dora", ids[3], sale.Confirmed, sale.UnitBack), sale.Recalled, "recalled")
		w.Pass(pauseSettles)
		w.finishes(w.Environment(), 1, 1, 1, true)
		w.mayNotCancel(w.Environment(), cancellation("dora", ids[3], sale.Confirmed, sale.UnitBack), sale.Recalled, "recalled")
		for i, reason := range []sale.RefundReason{sale.RefundCancelled, sale.RefundRecalled} {
			done := w.Settles(PaymentOf(ids[i], []string{"pi_alice", "pi_bob"}[i]))
			check(t, done.Refund != nil && done.Refund.Reason == reason, "got %+v, want a refund because of %s", done.Refund, reason)
		}
		w.finds("")
		w.hasCounts(0, 7, 2, 2)
	},
	"a payment of a cancelled order goes back, and its own payment's report is told so": func(t *testing.T, w *World) {
		w.OpenPriced(9, 1)
		ids := w.Ordered("alice", "bob", "carol")
		w.Settles(PaymentOf(ids[0], "pi_1"))
		at := w.Now()
		w.operatorCancels("alice", ids[0], sale.Paid, sale.UnitBack)
		w.operatorCancels("bob", ids[1], sale.Confirmed, sale.UnitKept)
		w.refunded(PaymentOf(ids[0], "pi_2"), "moutai", "alice", sale.RefundOtherPayment)
		w.refunded(PaymentOf(ids[1], "pi_3"), "moutai", "bob", sale.RefundReleased)
		w.Settles(PaymentOf(ids[2], "pi_4"))
		for reference, want := range map[string]sale.RefundReason{"pi_1": sale.RefundCancelled, "pi_4": ""} {
			done := w.Settles(PaymentOf(ids[map[string]int{"pi_1": 0, "pi_4": 2}[reference]], reference))
			if done.New || (done.Refund != nil) != (want != "") || done.Refund != nil && (done.Refund.Reason != want || !done.Refund.At.Equal(at)) {
				t.Errorf("%s: got %+v, want a refund because of %q", reference, done, want)
			}
		}
	},
	"a payment whose amount only its guard says goes back as it was, from a cancelled order as well": func(t *testing.T, w *World) {
		w.Open(9, 1)
		p := PaymentOf(w.Ordered("alice")[0], "pi_1")
		w.Settles(p)
		w.tamper("CLAIM#moutai#0", "alice", "REMOVE amount, currency", nil) // as an older version has written it
		at := w.Now()
		w.operatorCancels("alice", p.OrderID, sale.Paid, sale.UnitBack)
		w.goesBackBecause(sale.RefundCancelled, "alice", p, at)
	},
	"a cancellation meets its parts in any state that a restore can leave, and adds to none of them": func(t *testing.T, w *World) {
		w.Open(9, 1)
		p := PaymentOf(w.Ordered("alice")[0], "pi_1")
		w.Settles(p)
		before := w.table()
		for name, act := range map[string]func(){
			"the refund": func() {
				w.operatorCancels("alice", p.OrderID, sale.Paid, sale.UnitBack)
				w.place(before["CLAIM#moutai#0 alice"])
				w.remove(w.Item("CANCELLED#moutai", fmt.Sprint(p.OrderID)))
			},
			"the entry": func() {
				w.operatorCancels("alice", p.OrderID, sale.Paid, sale.UnitBack)
				w.place(before["CLAIM#moutai#0 alice"])
				w.remove(w.Item("REFUND#moutai", "stripe#pi_1"))
			},
			"the claim": func() {
				w.tamper("CLAIM#moutai#0", "alice", "SET cancelledAt = :at", attributes(map[string]any{":at": w.Now()}))
			},
		} {
			w.becomes(before)
			var held string
			_, err := w.overtaken("TransactWriteItems", func() { act(); held = w.everything() }).CancelOrder(w.Ctx, cancellation("alice", p.OrderID, sale.Paid, sale.UnitKept))
			check(t, err != nil && held == w.everything(), "only %s is there: got %v, want nothing changed", name, err)
		}
	},
	"an order whose claim is another order's is neither paid nor cancelled": func(_ *testing.T, w *World) {
		w.OpenPriced(9, 1)
		id := w.Ordered("alice")[0]
		w.tamper("CLAIM#moutai#0", "alice", "SET orderId = :one", one())
		before := w.everything()
		w.Refused(sale.Internal, errOf(w.Environment().Pay(w.Ctx, PaymentOf(id, "pi_1"))))
		w.Refused(sale.Internal, errOf(w.Environment().CancelOrder(w.Ctx, cancellation("alice", id, sale.Confirmed, sale.UnitBack))))
		w.unchanged(before)
	},
	"an order of a sealed sale is not cancelled, nor of one that is sealed meanwhile": func(t *testing.T, w *World) {
		c := w.Open(2, 1)
		ids := w.Ordered("alice", "bob")
		w.ends(c)
		w.mayNotCancel(w.overtaken("TransactWriteItems", func() { w.erases(w.Environment(), "bob") }),
			cancellation("alice", ids[0], sale.Confirmed, sale.UnitBack), sale.Conflicting, "sealed")
		w.mayNotCancel(w.Environment(), cancellation("alice", ids[0], sale.Confirmed, sale.UnitKept), sale.Conflicting, "sealed")
	},
	"who has cancelled an order is held of its buyer, and what they have noted goes with the buyer": func(t *testing.T, w *World) {
		c := w.Open(3, 1)
		ids := w.Ordered("alice", "bob")
		w.ends(c)
		for i, user := range []string{"alice", "bob"} {
			made := cancellation(user, ids[i], sale.Confirmed, sale.UnitBack)
			made.Note, made.ChangeID = user+" has moved away", fmt.Sprint("c", i)
			w.Succeeds(w.Environment().CancelOrder(w.Ctx, made))
		}
		w.drains()
		if h := w.holds("alice", 1)["moutai"]; h.Cancelled == nil || h.Cancelled.OrderID != ids[0] || h.Cancelled.Note != "alice has moved away" {
			t.Errorf("of the user it holds %+v, want who has cancelled the order", h.Cancelled)
		}
		w.erases(w.Environment(), "alice")
		if strings.Contains(w.everything(), "alice") {
			t.Errorf("the table names the user:\n%s", w.everything())
		}
		entry := w.Item("CANCELLED#moutai", fmt.Sprint(ids[0]))
		check(t, entry["note"] == nil && entry["actor"] != nil, "of the cancellation is stored %v, want it without its note", entry)
		h := w.holds("bob", 1)["moutai"]
		check(t, h.Cancelled != nil && h.Cancelled.Note == "bob has moved away", "of another user it holds %+v", h.Cancelled)
		w.Settled(1)
	},
	"nobody is erased with an order as it was before it was cancelled": func(t *testing.T, w *World) {
		c := w.Open(2, 1)
		id := w.Ordered("alice")[0]
		w.ends(c)
		w.erases(w.overtaken("TransactWriteItems", func() {
			w.operatorCancels("alice", id, sale.Confirmed, sale.UnitKept)
			w.drains()
		}), "alice")
		held := w.erasedClaim()
		check(t, held.State() == sale.Cancelled && held.Unit == sale.UnitKept, "got %+v, want the cancelled claim of an erased user", held)
	},
	"nobody is erased with an order as it was before its payment was paid back": func(t *testing.T, w *World) {
		c := w.Open(2, 1)
		w.Settles(PaymentOf(w.Ordered("alice")[0], "pi_1"))
		w.ends(c)
		at, tries := w.Now(), 0
		w.erases(w.before("TransactWriteItems", func() {
			switch tries++; tries {
			case 1:
				w.Reports(BackOf("pi_1"))
			case 2:
				w.erases(w.Environment(), "alice")
			}
		}), "alice")
		held := w.erasedClaim()
		check(t, held.RefundedAt.Equal(at), "got %+v, want the claim of an erased user, marked at %v", held, at)
	},
	"the audit compares the cancelled orders with the shards and with the refunds": func(t *testing.T, w *World) {
		w.Open(9, 1)
		ids := w.Ordered("alice", "bob")
		w.Settles(PaymentOf(ids[0], "pi_1"))
		w.operatorCancels("alice", ids[0], sale.Paid, sale.UnitBack)
		w.operatorCancels("bob", ids[1], sale.Confirmed, sale.UnitKept)
		balanced := w.table()
		for want, breaks := range map[string]func(){
			"the shards count 1 to 1 released units, there are 2 (P2)":                            func() { w.tamper("CLAIM#moutai#0", "bob", "SET #unit = :x", text("back")) },
			"the shards count 1 to 1 released units, there are 0 (P2)":                            func() { w.tamper("CLAIM#moutai#0", "alice", "SET #unit = :x", text("kept")) },
			"1 orders were cancelled after they were paid, and 0 of their payments go back (P37)": func() { w.remove(w.Item("REFUND#moutai", "stripe#pi_1")) },
			"unit is not back or kept (P19)":                                                      func() { w.tamper("CLAIM#moutai#0", "bob", "SET #unit = :x", text("lost")) },
			"cancelledAt is not absent from a claim that is not paid (P19)":                       func() { w.tamper("CLAIM#moutai#0", "alice", "REMOVE paidAt", nil) },
		} {
			breaks()
			w.finds(want)
			w.becomes(balanced)
		}
	},
}
