package ledgertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// erases erases a user in that environment, and returns the sales that are done.
func (w *World) erases(l *ledger.Ledger, user string) (sales []string) {
	w.T.Helper()
	if err := l.Erase(w.Ctx, user, func(h ledger.Held) { sales = append(sales, h.Sale.ID) }); err != nil {
		w.T.Fatalf("erase %s: %v", user, err)
	}
	return sales
}

// mayNotErase expects that a user is not erased, for that reason, and that nothing changes.
func (w *World) mayNotErase(l *ledger.Ledger, code sale.Code, why string) {
	w.T.Helper()
	before := w.everything()
	err := l.Erase(w.Ctx, "alice", func(ledger.Held) { w.T.Error("a sale is done") })
	if e := w.Refused(code, err); !strings.Contains(e.Detail, why) {
		w.T.Errorf("refused with %v, want %q", e, why)
	}
	if w.everything() != before {
		w.T.Error("something has changed")
	}
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
		ids := w.confirmed(append(refs, w.bought("bob")...))
		for i, reference := range []string{"pi_1", "pi_2"} {
			w.Settles(PaymentOf(ids[i], reference))
			w.Settles(PaymentOf(ids[i], reference+"-again"))
			if _, _, err := w.Environment().MarkRefunded(w.Ctx, "moutai", "stripe#"+reference+"-again"); err != nil {
				t.Fatal(err)
			}
		}
		w.ends(c)
		w.published(func() { w.erases(w.Environment(), "alice") })
		if strings.Contains(w.everything(), "alice") {
			t.Errorf("the table names the user:\n%s", w.everything())
		}
		claim := w.erasedClaim()
		if claim.OrderID != ids[0] || claim.State() != sale.Paid || claim.RequestKey != "" {
			t.Errorf("the order is %+v", claim)
		}
		held := w.holds(claim.User, 1)["moutai"]
		if held.Order == nil || held.Order.User != claim.User || !held.Guarded || len(held.Refunds) != 1 {
			t.Errorf("of the random id it holds %+v", held)
		}
		if bob := w.holds("bob", 1)["moutai"]; bob.Claim == nil || !bob.Guarded || len(bob.Refunds) != 1 {
			t.Errorf("of another user it holds %+v", bob)
		}
		w.Settled(2)
		if r, _ := w.audit(); !r.Balanced || !r.Finished || r.Paid != 2 {
			t.Errorf("got %+v", r)
		}
		if again := w.Settles(PaymentOf(ids[0], "pi_3")); again.Refund == nil || again.Refund.User != claim.User {
			t.Errorf("a late payment is %+v", again)
		}
		if held := w.holds("alice", 1); len(held) != 0 {
			t.Errorf("of the user it holds %+v", held)
		}
		if n := w.Number("SALE#moutai", "SALE", "erased"); n != 1 {
			t.Errorf("%d erasures are counted", n)
		}
		before := w.everything()
		if again := w.erases(w.Environment(), "alice"); len(again) != 0 || w.everything() != before {
			t.Errorf("the repeat erased in %v", again)
		}
		w.Refused(sale.Conflicting, w.Environment().Erase(w.Ctx, claim.User, func(ledger.Held) {}))
	},
	"nobody is erased from a sale that is not over, nor while a refund is due, nor while another sale of the group is on": func(t *testing.T, w *World) {
		c := w.Sale(9, 2)
		c.LimitGroup = "shoe"
		w.Create(c)
		ids := w.Ordered("alice")
		w.mayNotErase(w.Environment(), sale.Conflicting, "moutai is not drained")
		w.Settles(PaymentOf(ids[0], "pi_1"))
		w.Settles(PaymentOf(ids[0], "pi_2"))
		w.ends(c)
		asksFirst := func(want string) {
			_, err := w.Environment().Erasable(w.Ctx, "alice")
			if e := w.Refused(sale.Conflicting, err); !strings.Contains(e.Detail, want) {
				t.Errorf("who asks first is told %v, want %q", e, want)
			}
			w.mayNotErase(w.Environment(), sale.Conflicting, want)
		}
		asksFirst("1 refunds of the sale moutai are due")
		if _, _, err := w.Environment().MarkRefunded(w.Ctx, "moutai", "stripe#pi_2"); err != nil {
			t.Fatal(err)
		}
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
			p := w.Accepted(w.buyIn(id, user))
			orders := w.confirmed([]ledger.ClaimRef{{SaleID: id, User: user, ClaimID: p.Claim.ID}})
			for _, reference := range []string{"1", "2"} {
				payment := PaymentOf(orders[0], id+reference)
				payment.SaleID = id
				w.Settles(payment)
			}
		}
		w.ends(c)
		for _, id := range []string{"size-42", "other", "elsewhere"} {
			w.drainsUnsold(id)
		}
		marked := func(id string) {
			if _, _, err := w.Environment().MarkRefunded(w.Ctx, id, "stripe#"+id+"2"); err != nil {
				t.Fatal(err)
			}
		}
		marked("other")
		w.mayNotErase(w.Environment(), sale.Conflicting, "1 refunds of the sale size-42 are due")
		marked("size-42")
		if sales := w.erases(w.Environment(), "alice"); len(sales) != 2 {
			t.Errorf("erased in %v", sales)
		}
		for id, erased := range map[string]bool{"other": true, "size-42": false, "elsewhere": false} {
			refunds, err := w.Environment().Refunds(w.Ctx, id)
			if err != nil || len(refunds) != 1 || sale.IsErased(refunds[0].User) != erased || !erased && refunds[0].User != "bob" {
				t.Errorf("%s has the refunds %+v (%v)", id, refunds, err)
			}
		}
	},
	"nobody is erased whose claim may not note all refunds": func(t *testing.T, w *World) {
		id := w.drainedWith()[0]
		w.Settles(PaymentOf(id, "pi"))
		for i := range 20 {
			p := PaymentOf(id, fmt.Sprint("pi_", i))
			w.Settles(p)
			if _, _, err := w.Environment().MarkRefunded(w.Ctx, "moutai", p.ID()); err != nil {
				t.Fatal(err)
			}
		}
		w.mayNotErase(w.Environment(), sale.Conflicting, "has 20 payments to refund")
	},
	"a sealed sale and its group take no change, and an older reader refuses it": func(t *testing.T, w *World) {
		c := w.Sale(9, 2)
		c.LimitGroup = "shoe"
		w.Create(c)
		w.Ordered("alice")
		w.ends(c)
		w.erases(w.Environment(), "alice")
		if v := w.Number("SALE#moutai", "SALE", "minReader"); v != sale.ReadsSealed {
			t.Errorf("its reader needs version %d", v)
		}
		before := w.everything()
		l := w.Environment()
		for _, action := range actions {
			_, err := w.changeIn("moutai", l, action, "late", sale.Author{})
			if e := w.Refused(sale.Conflicting, err); !strings.Contains(e.Detail, "it is sealed") {
				t.Errorf("%s is refused with %v", action, e)
			}
		}
		c.SaleID = "size-42"
		_, err := l.Create(w.Ctx, c)
		if e := w.Refused(sale.Conflicting, err); !strings.Contains(e.Detail, "it is sealed") {
			t.Errorf("a new sale of the group is refused with %v", e)
		}
		if w.everything() != before {
			t.Error("something has changed")
		}
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
			if w.Item("SALE#"+id, "SALE")["sealedAt"] == nil || w.Item("SALES", id)["sealedAt"] == nil {
				t.Errorf("%s is not sealed", id)
			}
			if v := w.Number("SALE#"+id, "SALE", "minReader"); v != sale.ReadsSealed {
				t.Errorf("the reader of %s needs version %d, want %d", id, v, sale.ReadsSealed)
			}
		}
	},
	"a reschedule that a seal overtakes changes nothing": sealedMeanwhile(sale.ActionReschedule),
	"a recall that a seal overtakes changes nothing":     sealedMeanwhile(sale.ActionRecall),
	"an addition that a seal overtakes adds nothing":     sealedMeanwhile(sale.ActionAdd),
	"a withdrawal that a seal overtakes takes nothing":   sealedMeanwhile(sale.ActionWithdraw),
	"a payment that comes in between is the erased user's": func(t *testing.T, w *World) {
		ids := w.drainedWith()
		w.erases(w.beforeTransaction(1, func() { w.Settles(PaymentOf(ids[0], "pi_1")) }), "alice")
		if c := w.erasedClaim(); c.Payment != "stripe#pi_1" || c.State() != sale.Paid {
			t.Errorf("the order is %+v", c)
		}
		if held := w.holds("alice", 1); len(held) != 0 {
			t.Errorf("of the user it holds %+v", held)
		}
		w.Balanced(2)
	},
	"a payment to refund that comes in between stops the erasure, as it would have before": func(t *testing.T, w *World) {
		ids := w.drainedWith()
		for n, reference := range []string{"pi_1", "pi_2", "pi_3"} { // the first one pays
			p := PaymentOf(ids[0], reference)
			if n == 0 {
				w.Settles(p)
				continue
			}
			err := w.beforeTransaction(1, func() { w.Settles(p) }).Erase(w.Ctx, "alice", func(ledger.Held) { t.Error("a sale is done") })
			if e := w.Refused(sale.Conflicting, err); !strings.Contains(e.Detail, "1 refunds of the sale moutai are due") {
				t.Errorf("refused with %v", e)
			}
			if _, _, err := w.Environment().MarkRefunded(w.Ctx, "moutai", p.ID()); err != nil {
				t.Fatal(err)
			}
		}
		w.erases(w.Environment(), "alice")
		refunds, err := w.Environment().Refunds(w.Ctx, "moutai")
		if err != nil || len(refunds) != 2 {
			t.Errorf("got %+v (%v), want two", refunds, err)
		}
		for _, r := range refunds {
			if !sale.IsErased(r.User) {
				t.Errorf("a refund names the user: %+v", r)
			}
		}
		w.Balanced(2)
	},
	"a refund that comes and is made in between is the erased user's, and another's stays theirs": func(t *testing.T, w *World) {
		ids := w.drainedWith()
		goesBack := func(order uint64, reference string) {
			w.Settles(PaymentOf(order, reference))
			if _, _, err := w.Environment().MarkRefunded(w.Ctx, "moutai", "stripe#"+reference); err != nil {
				t.Fatal(err)
			}
		}
		w.Settles(PaymentOf(ids[0], "pi_alice"))
		w.Settles(PaymentOf(ids[2], "pi_carol"))
		goesBack(ids[2], "pi_carol-2")
		w.erases(w.beforeTransaction(1, func() { goesBack(ids[0], "pi_alice-2") }), "alice")
		refunds, err := w.Environment().Refunds(w.Ctx, "moutai")
		if err != nil || len(refunds) != 2 || !sale.IsErased(refunds[0].User) || refunds[1].User != "carol" {
			t.Errorf("got %+v (%v), want one of an erased user and one of carol", refunds, err)
		}
		w.Balanced(2)
	},
	"two who erase one user at once leave one claim": func(t *testing.T, w *World) {
		w.drainedWith()
		w.erases(w.beforeTransaction(1, func() { w.erases(w.Environment(), "alice") }), "alice")
		w.erasedClaim()
		w.Balanced(2)
		if n := w.Number("SALE#moutai", "SALE", "erased"); n != 1 {
			t.Errorf("%d erasures are counted", n)
		}
	},
	"two who erase at once a user of whom only a guard is left move it once": func(t *testing.T, w *World) {
		c := w.Sale(9, 2)
		c.LimitGroup = "shoe"
		w.Create(c)
		w.Ordered("alice")
		w.ends(c)
		w.remove(w.Item("CLAIM#moutai#0", "alice"))
		w.erases(w.beforeTransaction(1, func() { w.erases(w.Environment(), "alice") }), "alice")
		if n := w.Number("SALE#moutai", "SALE", "erased"); n != 1 || len(w.holds("alice", 1)) != 0 {
			t.Errorf("%d erasures are counted, and of the user it holds %+v", n, w.holds("alice", 1))
		}
	},
	"a pass of a release that a seal overtakes notes nothing": func(t *testing.T, w *World) {
		c := w.OpenUnpaid(9, 2)
		w.Settles(PaymentOf(w.Ordered("alice")[0], "pi_1"))
		before := w.Listing()
		w.ends(c)
		w.erases(w.Environment(), "alice")
		cut := w.Hooked(func(operation string, _ any, call func() (any, error)) (any, error) {
			if operation == "Query" {
				return nil, &types.ResourceNotFoundException{}
			}
			return call()
		})
		_, err := cut.ReleaseDue(w.Ctx, before, grace)
		w.Refused(sale.Internal, err)
		if listing := w.Listing(); listing.Releasing != nil {
			t.Errorf("the listing notes %+v", *listing.Releasing)
		}
	},
	"a sale that an older release takes back meanwhile is not touched": func(t *testing.T, w *World) {
		w.drainedWith()
		l := w.beforeTransaction(1, func() { w.tamper("SALES", "moutai", "SET #cursor = :x REMOVE drained", text("{}")) })
		err := l.Erase(w.Ctx, "alice", func(ledger.Held) { t.Error("a sale is done") })
		if e := w.Refused(sale.Conflicting, err); !strings.Contains(e.Detail, "moutai is not drained") || w.claimOf("alice").OrderID == 0 {
			t.Errorf("refused with %v", e)
		}
		w.tamper("SALES", "moutai", "SET drained = :x", map[string]types.AttributeValue{":x": &types.AttributeValueMemberBOOL{Value: true}})
		w.erases(w.Environment(), "alice")
		w.erasedClaim()
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
		for what, meanwhile := range map[string]func(){
			"an addition to the sale": func() { w.Add("more", 1) },
			"a reschedule of another sale of the group": func() {
				if _, err := w.changeIn("size-42", w.Environment(), sale.ActionReschedule, "later", sale.Author{}); err != nil {
					t.Error(err)
				}
			},
			"a new sale of the group": func() { w.openIn("shoe", "size-43", 1) },
		} {
			err := w.beforeTransaction(1, meanwhile).Erase(w.Ctx, "alice", func(ledger.Held) { t.Errorf("%s: a sale is done", what) })
			if code := sale.CodeOf(err); code != sale.Conflicting && code != sale.Busy {
				t.Errorf("%s: %v, want a refusal", what, err)
			}
			for _, at := range [][2]string{{"SALE#moutai", "SALE"}, {"SALES", "moutai"}, {"SALE#size-42", "SALE"}, {"SALES", "size-42"}, {"GROUP#shoe", "GROUP"}} {
				if w.Item(at[0], at[1])["sealedAt"] != nil {
					t.Errorf("%s: %s is sealed", what, at[0])
				}
			}
			w.moment(Start.Add(3 * time.Hour))
			if r, _ := w.audit(); !w.drained(r) {
				t.Fatalf("not drained: %+v", r)
			}
			w.drainsUnsold("size-42")
		}
		c.SaleID = "size-44"
		w.Create(c)
	},
	"what passes have noted of a sale names nobody who is erased from it, nor does what they note later": func(t *testing.T, w *World) {
		w.drainedWith()
		pass := &ledger.Audit{SaleID: "moutai", Places: []ledger.Place{{Bucket: 1, After: "alice"}}}
		found := &ledger.Receipt{SaleID: "moutai", Findings: []string{`user "alice": order 1 belongs to another claim (P7)`}}
		if err := w.Ledger.SaveCursor(w.Ctx, pass, found); err != nil {
			t.Fatal(err)
		}
		w.tamper("SALES", "moutai", "SET releasing = :x", text(`{"bucket":1,"after":"alice"}`))
		w.erases(w.Environment(), "alice")
		for _, when := range []string{"erased", "and a pass ends that began before"} {
			if all := w.everything(); strings.Contains(all, "alice") {
				t.Errorf("%s: the table names the user:\n%s", when, all)
			}
			if err := w.Environment().SaveCursor(w.Ctx, pass, found); err != nil {
				t.Fatal(err)
			}
		}
	},
	"books that name nobody stay when somebody is erased": func(t *testing.T, w *World) {
		w.drainedWith()
		w.erases(w.Environment(), "alice")
		if listing, err := w.Environment().Listing(w.Ctx, "moutai"); err != nil || listing.Books == nil || listing.Books.Claims != 3 {
			t.Errorf("the listing is %+v (%v)", listing, err)
		}
	},
	"an erasure whose answer is lost counts once": func(t *testing.T, w *World) {
		c := w.OpenDraw(9, 2)
		w.moment(c.EnterFrom)
		for _, user := range []string{"alice", "bob"} {
			if _, err := w.enters(user); err != nil {
				t.Fatal(err)
			}
		}
		other := w.Sale(9, 2)
		other.SaleID, other.OpensAt, other.ClosesAt = "other", w.Now(), c.ClosesAt
		w.Create(other)
		if _, err := w.buyIn("other", "alice"); err != nil {
			t.Fatal(err)
		}
		claim, err := w.Environment().Claim(w.Ctx, "other", "alice")
		if err != nil {
			t.Fatal(err)
		}
		w.confirmed([]ledger.ClaimRef{{SaleID: "other", User: "alice", ClaimID: claim.ID}})
		w.ends(c)
		w.drainsUnsold("other")
		forgetful := w.Hooked(func(op string, _ any, call func() (any, error)) (any, error) {
			out, err := call()
			if op == "TransactWriteItems" && err == nil {
				return nil, errDead
			}
			return out, err
		})
		if sales := w.erases(forgetful, "alice"); len(sales) != 2 {
			t.Errorf("erased in %v", sales)
		}
		for _, id := range []string{"moutai", "other"} {
			if n := w.Number("SALE#"+id, "SALE", "erased"); n != 1 {
				t.Errorf("%s counts %d erasures, want one", id, n)
			}
		}
	},
	"an erasure that is cut off anywhere is finished by the next one": func(t *testing.T, w *World) {
		other := w.Sale(9, 2)
		other.SaleID = "other"
		for cut := range 4 {
			w := w
			if cut == 0 {
				w.Create(other)
				c := w.Open(9, 2)
				w.Ordered("alice", "bob")
				w.ends(c)
				w.drainsUnsold("other")
			}
			ctx, l := w.cutAfter(cut / 3)
			if err := l.Erase(ctx, "alice", func(ledger.Held) {}); (err == nil) != (cut == 3) {
				t.Errorf("cut off after %d writes: %v", cut/3, err)
			}
			w.Balanced(2)
		}
		w.erases(w.Environment(), "alice")
		w.erasedClaim()
		if held := w.holds("alice", 2); len(held) != 0 {
			t.Errorf("of the user it holds %+v", held)
		}
	},
	"an erased entry leaves its hash on the roll": func(t *testing.T, w *World) {
		c := w.OpenDraw(9, 2)
		w.moment(c.EnterFrom)
		for _, user := range []string{"alice", "bob"} {
			if _, err := w.enters(user); err != nil {
				t.Fatal(err)
			}
		}
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
		_, err = w.Environment().Entry(w.Ctx, "moutai", "alice", settle)
		w.Refused(sale.EntryNotFound, err)
		if _, err := w.Environment().Entry(w.Ctx, "moutai", "bob", settle); err != nil {
			t.Errorf("the other entry: %v", err)
		}
	},
}

// sealedMeanwhile is a change of a drained sale that has looked at it before it is sealed.
func sealedMeanwhile(action sale.Action) func(*testing.T, *World) {
	return func(t *testing.T, w *World) {
		w.drainedWith()
		writes := 1
		if action == sale.ActionAdd || action == sale.ActionWithdraw {
			writes = 2 // after its announcement
		}
		slow := w.beforeTransaction(writes, func() { w.erases(w.Environment(), "alice") })
		_, err := w.changeIn("moutai", slow, action, "late", sale.Author{})
		if e := w.Refused(sale.Conflicting, err); !strings.Contains(e.Detail, "it is sealed") {
			t.Errorf("refused with %v", e)
		}
		if w.Item("SALES", "moutai")["drained"] == nil {
			t.Error("the sale is not drained any more")
		}
		w.Balanced(2)
	}
}
