package ledgertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

// erases erases a user in that environment, and returns the sales that are done.
func (w *World) erases(l *ledger.Ledger, user string) (sales []string) {
	w.T.Helper()
	if err := maintenance.Of(l).Erase(w.Ctx, user, func(h maintenance.Held) { sales = append(sales, h.Sale.ID) }); err != nil {
		w.T.Fatalf("erase %s: %v", user, err)
	}
	return sales
}

// mayNotErase expects that a user is not erased, for that reason, and that nothing changes.
func (w *World) mayNotErase(l *ledger.Ledger, code sale.Code, why string) {
	w.T.Helper()
	before := w.everything()
	err := maintenance.Of(l).Erase(w.Ctx, "alice", func(maintenance.Held) { w.T.Error("a sale is done") })
	w.refusedBecause(why, code, err)
	w.unchanged(before)
}

// erasedClaim is the one claim of the sale that is of an erased user.
func (w *World) erasedClaim() (found sale.Claim) {
	w.T.Helper()
	n := 0
	err := w.Environment().Claims(w.Ctx, "moutai", func(_ sale.Sale, claims []sale.Claim) error {
		for _, c := range claims {
			if sale.IsErased(c.User) {
				n, found = n+1, c
			}
		}
		return nil
	})
	if err != nil || n != 1 {
		w.T.Fatalf("%d claims of erased users (%v), want one", n, err)
	}
	return found
}

// isRefused sends a refund due of the sale, and its provider refuses it with those words.
func (w *World) isRefused(payment, words string) {
	w.T.Helper()
	for _, r := range w.refunds("moutai") {
		if r.Payment == payment {
			r, _, err := w.Environment().TakeRefund(w.Ctx, r, &sale.Sending{ID: sale.SendingID(w.Now(), "press")}, "live")
			w.Succeeds(nil, err)
			w.Succeeds(w.Environment().NoteSent(w.Ctx, r, r.Sent.Refused(sale.SendingRule{}, "no-account", words), nil))
		}
	}
}

// drainedWith opens a sale that asks for no payment, sells to alice, bob and carol, and ends it.
func (w *World) drainedWith() []uint64 {
	w.T.Helper()
	c := w.Open(9, 2)
	ids := w.Ordered("alice", "bob", "carol")
	w.ends(c)
	return ids
}

var erasing = map[string]func(*testing.T, *World){
	"an erased user's order is kept under a random id, nothing names the user, and the books balance": func(t *testing.T, w *World) {
		c := w.Sale(9, 2)
		c.PayWithin, c.LimitGroup = payWithin, "shoe"
		w.Create(c)
		refs := []ledger.ClaimRef{{SaleID: "moutai", User: "alice", ClaimID: w.Accepted(w.BuyWith("alice", "key-of-alice")).Claim.ID}}
		ids := w.Confirmed(append(refs, w.bought("bob")...))
		for i, reference := range []string{"pi_1", "pi_2"} {
			w.Settles(PaymentOf(ids[i], reference))
			w.Settles(PaymentOf(ids[i], reference+"-again"))
			w.isRefused("stripe#"+reference+"-again", []string{"alice", "bob"}[i]+" has no account")
			w.marksRefunded("moutai", "stripe#"+reference+"-again")
		}
		w.ends(c)
		w.published(func() { w.erases(w.Environment(), "alice") })
		if strings.Contains(w.everything(), "alice") {
			t.Errorf("the table names the user:\n%s", w.everything())
		}
		claim := w.erasedClaim()
		check(t, claim.OrderID == ids[0] && claim.State() == sale.Paid && claim.RequestKey == "", "the order is %+v", claim)
		held := w.holds(claim.User, 1)["moutai"]
		check(t, held.Order != nil && held.Order.User == claim.User && held.Guarded && len(held.Refunds) == 1, "of the random id it holds %+v", held)
		sent := held.Refunds[0].Sent
		check(t, sent.State == sale.SentRefused && sent.By != "" && sent.Code == "no-account" && sent.Words == "", "of the refund is left: %+v", sent)
		bob := w.holds("bob", 1)["moutai"]
		check(t, bob.Claim != nil && bob.Guarded && len(bob.Refunds) == 1, "of another user it holds %+v", bob)
		w.Settled(2)
		r, _ := w.audit()
		check(t, r.Balanced && r.Finished && r.Paid == 2, "got %+v", r)
		again := w.Settles(PaymentOf(ids[0], "pi_3"))
		check(t, again.Refund != nil && again.Refund.User == claim.User, "a late payment is %+v", again)
		w.holdsNothing("alice")
		w.hasNumber(1, "SALE#moutai", "SALE", "erased")
		before := w.everything()
		repeat := w.erases(w.Environment(), "alice")
		check(t, len(repeat) == 0 && w.everything() == before, "the repeat erased in %v", repeat)
		w.Refused(sale.Conflicting, maintenance.Of(w.Environment()).Erase(w.Ctx, claim.User, func(maintenance.Held) {}))
	},
	"nobody is erased from a sale that is not over, nor while a refund is due, nor while another sale of the group is on": func(t *testing.T, w *World) {
		c := w.openIn("shoe", "moutai", 2)
		ids := w.Ordered("alice")
		w.mayNotErase(w.Environment(), sale.Conflicting, "moutai is not drained")
		w.Settles(PaymentOf(ids[0], "pi_1"))
		w.Settles(PaymentOf(ids[0], "pi_2"))
		w.ends(c)
		asksFirst := func(want string) {
			w.refusedBecause(want, sale.Conflicting, errOf(maintenance.Of(w.Environment()).Erasable(w.Ctx, "alice")))
			w.mayNotErase(w.Environment(), sale.Conflicting, want)
		}
		asksFirst("1 refunds of the sale moutai are due")
		w.marksRefunded("moutai", "stripe#pi_2")
		w.openIn("shoe", "size-42", 1)
		asksFirst("size-42 is not drained")
	},
	"nobody is erased while a refund of another sale of theirs, or of its group, is due; elsewhere it may be": func(t *testing.T, w *World) {
		c := w.Sale(9, 2)
		for id, group := range map[string]string{"moutai": "shoe", "size-42": "shoe", "other": "", "elsewhere": ""} {
			c.SaleID, c.LimitGroup = id, group
			w.Create(c)
		}
		w.Ordered("alice")
		for id, user := range map[string]string{"other": "alice", "size-42": "bob", "elsewhere": "bob"} {
			order := w.orderedIn(id, user)
			for _, reference := range []string{"1", "2"} {
				payment := PaymentOf(order, id+reference)
				payment.SaleID = id
				w.Settles(payment)
			}
		}
		w.ends(c)
		for _, id := range []string{"size-42", "other", "elsewhere"} {
			w.drainsUnsold(id)
		}
		w.marksRefunded("other", "stripe#other2")
		w.mayNotErase(w.Environment(), sale.Conflicting, "1 refunds of the sale size-42 are due")
		w.marksRefunded("size-42", "stripe#size-422")
		hasLen(t, w.erases(w.Environment(), "alice"), 2)
		for id, erased := range map[string]bool{"other": true, "size-42": false, "elsewhere": false} {
			refunds := w.refunds(id)
			check(t, len(refunds) == 1 && sale.IsErased(refunds[0].User) == erased && (erased || refunds[0].User == "bob"), "%s has the refunds %+v", id, refunds)
		}
	},
	"nobody is erased whose claim may not note all refunds": func(t *testing.T, w *World) {
		id := w.drainedWith()[0]
		w.Settles(PaymentOf(id, "pi"))
		for i := range 20 {
			p := PaymentOf(id, fmt.Sprint("pi_", i))
			w.Settles(p)
			w.marksRefunded("moutai", p.ID())
		}
		w.mayNotErase(w.Environment(), sale.Conflicting, "has 20 payments to refund")
	},
	"a sealed sale and its group take no change, and an older reader refuses it": func(t *testing.T, w *World) {
		c := w.openIn("shoe", "moutai", 2)
		w.Ordered("alice")
		w.ends(c)
		w.erases(w.Environment(), "alice")
		w.hasNumber(sale.ReadsSealed, "SALE#moutai", "SALE", "minReader")
		before := w.everything()
		l := w.Environment()
		for _, action := range actions {
			w.refusedBecause("it is sealed", sale.Conflicting, errOf(w.changeIn("moutai", l, action, "late", sale.Author{})))
		}
		c.SaleID = "size-42"
		w.refusedBecause("it is sealed", sale.Conflicting, errOf(l.Create(w.Ctx, c)))
		w.unchanged(before)
		w.Pass(time.Minute)
		w.erases(w.Environment(), "bob")
	},
	"the sales of a group are sealed together, and none while the group does not name its own": func(t *testing.T, w *World) {
		c := w.openIn("shoe", "size-42", 1)
		c.SaleID = "moutai"
		w.Create(c)
		w.Ordered("alice")
		w.ends(c)
		w.drainsUnsold("size-42")
		named := map[string]types.AttributeValue{":x": &types.AttributeValueMemberSS{Value: []string{"moutai"}}}
		w.tamper("GROUP#shoe", "GROUP", "DELETE sales :x", named)
		w.mayNotErase(w.Environment(), sale.Internal, "")
		w.tamper("GROUP#shoe", "GROUP", "ADD sales :x", named)
		w.erases(w.Environment(), "alice")
		for _, id := range []string{"moutai", "size-42"} {
			check(t, w.Item("SALE#"+id, "SALE")["sealedAt"] != nil && w.Item("SALES", id)["sealedAt"] != nil, "%s is not sealed", id)
			w.hasNumber(sale.ReadsSealed, "SALE#"+id, "SALE", "minReader")
		}
	},
	"a change that a seal overtakes changes nothing": func(t *testing.T, w *World) {
		for action, writes := range map[sale.Action]int{ // the second write comes after an announcement
			sale.ActionReschedule: 1, sale.ActionRecall: 1, sale.ActionAdd: 2, sale.ActionWithdraw: 2,
		} {
			w.becomes(table{})
			w.drainedWith()
			slow := w.beforeTransaction(writes, func() { w.erases(w.Environment(), "alice") })
			w.refusedBecause("it is sealed", sale.Conflicting, errOf(w.changeIn("moutai", slow, action, "late", sale.Author{})))
			check(t, w.Item("SALES", "moutai")["drained"] != nil, "after a %s the sale is not drained any more", action)
			w.Settled(2)
		}
	},
	"a payment that comes in between is the erased user's": func(t *testing.T, w *World) {
		ids := w.drainedWith()
		w.erases(w.beforeTransaction(1, func() { w.Settles(PaymentOf(ids[0], "pi_1")) }), "alice")
		c := w.erasedClaim()
		check(t, c.Payment == "stripe#pi_1" && c.State() == sale.Paid, "the order is %+v", c)
		w.holdsNothing("alice")
		w.Settled(2)
	},
	"what is reported of money in between is said of the erased user's order": func(t *testing.T, w *World) {
		w.Settles(PaymentOf(w.drainedWith()[0], "pi_1"))
		w.Reports(halves("pi_1", "stuck a 1"))
		w.erases(w.beforeTransaction(1, func() { w.Reports(halves("pi_1", "failed b 1")) }), "alice")
		same(t, w.erasedClaim().Failures, 1)
	},
	"a payment to refund that comes in between stops the erasure, as it would have before": func(t *testing.T, w *World) {
		ids := w.drainedWith()
		w.Settles(PaymentOf(ids[0], "pi_1")) // it pays
		for _, reference := range []string{"pi_2", "pi_3"} {
			p := PaymentOf(ids[0], reference)
			err := maintenance.Of(w.beforeTransaction(1, func() { w.Settles(p) })).Erase(w.Ctx, "alice", func(maintenance.Held) { t.Error("a sale is done") })
			w.refusedBecause("1 refunds of the sale moutai are due", sale.Conflicting, err)
			w.marksRefunded("moutai", p.ID())
		}
		w.erases(w.Environment(), "alice")
		refunds := w.refunds("moutai")
		check(t, len(refunds) == 2 && sale.IsErased(refunds[0].User) && sale.IsErased(refunds[1].User), "got %+v, want two of an erased user", refunds)
		w.Settled(2)
	},
	"a refund that comes and is made in between is the erased user's, and another's stays theirs": func(t *testing.T, w *World) {
		ids := w.drainedWith()
		for _, i := range []int{0, 2} {
			w.Settles(PaymentOf(ids[i], fmt.Sprint("pi_", i)))
		}
		goesBack := func(i int) {
			w.Settles(PaymentOf(ids[i], fmt.Sprint("pi_again-", i)))
			w.marksRefunded("moutai", fmt.Sprint("stripe#pi_again-", i))
		}
		goesBack(2)
		w.erases(w.beforeTransaction(1, func() { goesBack(0) }), "alice")
		refunds := w.refunds("moutai")
		check(t, len(refunds) == 2 && sale.IsErased(refunds[0].User) && refunds[1].User == "carol", "got %+v, want one of an erased user and one of carol", refunds)
		w.Settled(2)
	},
	"two who erase at once a user of whom only a guard is left move it once": func(t *testing.T, w *World) {
		c := w.openIn("shoe", "moutai", 2)
		w.Ordered("alice")
		w.ends(c)
		w.remove(w.Item("CLAIM#moutai#0", "alice"))
		w.erases(w.beforeTransaction(1, func() { w.erases(w.Environment(), "alice") }), "alice")
		w.hasNumber(1, "SALE#moutai", "SALE", "erased")
		w.holdsNothing("alice")
	},
	"a pass of a release that a seal overtakes notes nothing": func(t *testing.T, w *World) {
		c := w.OpenUnpaid(9, 2)
		w.Settles(PaymentOf(w.Ordered("alice")[0], "pi_1"))
		before := w.Listing()
		w.ends(c)
		w.erases(w.Environment(), "alice")
		w.Refused(sale.Internal, errOf(w.failing("Query", 0).ReleaseDue(w.Ctx, before, grace)))
		if listing := w.Listing(); listing.Releasing != nil {
			t.Errorf("the listing notes %+v", *listing.Releasing)
		}
	},
	"an erasure that something overtakes seals nothing": func(t *testing.T, w *World) {
		c := w.Sale(9, 2)
		c.LimitGroup = "shoe"
		c.SaleID = "size-42"
		w.Create(c)
		c.SaleID = "moutai"
		w.Create(c)
		w.Ordered("alice")
		w.ends(c)
		w.drainsUnsold("size-42")
		// The new sale comes last: while it sells, nobody is erased from the group at all.
		for _, one := range []struct {
			what      string
			meanwhile func()
			want      sale.Code
		}{
			{"an addition to the sale", func() { w.Add("more", 1) }, sale.Conflicting},
			{"a reschedule of another sale of the group", func() {
				w.changes("size-42", sale.ActionReschedule, "later", sale.Author{})
			}, sale.Conflicting},
			{"a new sale of the group", func() { w.openIn("shoe", "size-43", 1) }, sale.Busy},
		} {
			err := maintenance.Of(w.beforeTransaction(1, one.meanwhile)).Erase(w.Ctx, "alice", func(maintenance.Held) { t.Errorf("%s: a sale is done", one.what) })
			hasCode(t, one.want, err, "%s", one.what)
			for _, at := range [][2]string{{"SALE#moutai", "SALE"}, {"SALES", "moutai"}, {"SALE#size-42", "SALE"}, {"SALES", "size-42"}, {"GROUP#shoe", "GROUP"}} {
				check(t, w.Item(at[0], at[1])["sealedAt"] == nil, "%s: %s is sealed", one.what, at[0])
			}
			w.moment(Start.Add(4 * time.Hour))
			w.drains()
			w.drainsUnsold("size-42")
		}
		c.SaleID = "size-44"
		w.Create(c)
	},
	"what passes have noted of a sale names nobody who is erased from it, nor does what they note later": func(t *testing.T, w *World) {
		w.drainedWith()
		pass := &ledger.Audit{SaleID: "moutai", Positions: []ledger.Position{{Bucket: 1, After: "alice"}}}
		found := &ledger.Receipt{SaleID: "moutai", Findings: []string{`user "alice": order 1 belongs to another claim (P7)`}}
		w.Succeeds(nil, w.Ledger.SaveCursor(w.Ctx, pass, found))
		w.tamper("SALES", "moutai", "SET releasing = :x", text(`{"bucket":1,"after":"alice"}`))
		w.erases(w.Environment(), "alice")
		for _, when := range []string{"erased", "and a pass ends that began before"} {
			all := w.everything()
			check(t, !strings.Contains(all, "alice"), "%s: the table names the user:\n%s", when, all)
			w.Succeeds(nil, w.Environment().SaveCursor(w.Ctx, pass, found))
		}
	},
	"an erasure whose answer is lost counts once": func(t *testing.T, w *World) {
		c := w.OpenDraw(9, 2)
		w.moment(c.EnterFrom)
		w.entered("alice", "bob")
		other := w.Sale(9, 2)
		other.SaleID, other.OpensAt, other.ClosesAt = "other", w.Now(), c.ClosesAt
		w.Create(other)
		w.orderedIn("other", "alice")
		w.ends(c)
		w.drainsUnsold("other")
		hasLen(t, w.erases(w.forgetful(), "alice"), 2)
		for _, id := range []string{"moutai", "other"} {
			w.hasNumber(1, "SALE#"+id, "SALE", "erased")
		}
	},
	"an erasure that is cut off anywhere is finished by the next one": func(t *testing.T, w *World) {
		w.drainedWith()
		for writes := range 2 {
			ctx, l := w.cutAfter(writes)
			same(t, maintenance.Of(l).Erase(ctx, "alice", func(maintenance.Held) {}) == nil, writes == 1, "cut off after %d writes", writes)
			w.Settled(2)
		}
		w.erases(w.Environment(), "alice")
		w.erasedClaim()
		listing, held := w.Listing(), w.holds("alice", 1)
		check(t, len(held) == 0 && listing.Books != nil && listing.Books.Claims == 3, "of the user it holds %+v, the listing is %+v", held, listing)
	},
	"an erased entry leaves its hash on the roll": func(t *testing.T, w *World) {
		c := w.OpenDraw(9, 2)
		w.moment(c.EnterFrom)
		w.entered("alice", "bob")
		w.moment(c.EnterUntil.Add(settle))
		head, err := w.closes(w.Environment())
		if err != nil || head.Entrants != 2 {
			t.Fatal(head, err)
		}
		w.ends(c)
		roll := w.Partition("ROLL#moutai")
		w.erases(w.Environment(), "alice")
		if after := w.Partition("ROLL#moutai"); !slices.EqualFunc(roll, after, func(a, b map[string]types.AttributeValue) bool { return keyOf(a) == keyOf(b) }) || w.entries() != 1 {
			t.Errorf("%d entries are left, want one", w.entries())
		}
		w.Refused(sale.EntryNotFound, errOf(w.Environment().Entry(w.Ctx, "moutai", "alice", settle)))
		w.Succeeds(w.Environment().Entry(w.Ctx, "moutai", "bob", settle))
	},
}
