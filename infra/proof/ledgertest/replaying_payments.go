package ledgertest

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"flashsale/shared/ledger"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

// replayingPayments are of payments, releases and refunds that a restored table lacks.
var replayingPayments = map[string]func(*testing.T, *World){
	"a refund of another order, one beyond those that a claim notes, and one without a user are noted by no claim": func(t *testing.T, w *World) {
		w.OpenPriced(1, 1)
		order := w.Ordered("alice")[0]
		due := sale.Refund{SaleID: "moutai", Payment: "stripe#x", User: "alice", OrderID: order + 1, Amount: 1, Currency: "CNY", At: w.Now(), Reason: sale.RefundOtherPayment}
		old := due
		old.Payment, old.User, old.OrderID = "stripe#old", "", order
		p := &past{World: w, lost: maintenance.Lost{RestoredTo: w.Now(), Refunds: []sale.Refund{due, old}}}
		if done := p.replays(w.Environment(), true); done.Refunds != 2 || len(w.claimOf("alice").Refunds) != 0 {
			t.Errorf("%+v, %+v", done, w.claimOf("alice"))
		}
		for i := range 22 { // the first one pays
			w.Settles(PaymentOf(order, fmt.Sprint("p-", i)))
		}
		p.lost.Refunds = nil
		if done := p.replays(w.Environment(), true); done.Missing() != 0 || len(w.claimOf("alice").Refunds) != 20 {
			t.Errorf("%+v, and the claim notes %d refunds", done, len(w.claimOf("alice").Refunds))
		}
	},
	"a cancellation that was restored without one of its items is completed by the others": func(t *testing.T, w *World) {
		p := w.cancels()
		p.lost.Claims, p.lost.Refunds = nil, nil
		for key, it := range p.full {
			if it["orderId"] == nil || it["unit"] != nil { // nothing else tells when erin's claim was accepted
				restored := maps.Clone(p.full)
				if restored[key] = p.kept[key]; p.kept[key] == nil {
					delete(restored, key)
				}
				if kind, _, _ := strings.Cut(key, "#"); kind == "SEQ" || kind == "ORDER" {
					continue
				}
				p.becomes(restored)
				p.replays(w.Environment(), true)
				p.isCancelled("all but " + key)
			}
		}
	},
	"of a cancellation of which only the refund is left nobody gets the unit": func(t *testing.T, w *World) {
		p := w.cancels()
		p.lost.Claims, p.lost.Refunds = nil, nil
		restored := maps.Clone(p.kept)
		restored["REFUND#moutai stripe#alice"] = p.full["REFUND#moutai stripe#alice"]
		// Its claim notes it, and is cancelled, which then says that there is no item of the cancellation.
		for write, halves := range map[bool]int{false: 2, true: 3} {
			p.becomes(restored)
			done := p.replays(w.Environment(), write)
			check(t, done.Halves == halves && done.Shards == 0, "written: %t, got %+v, want %d halves", write, done, halves)
		}
		p.becomes(restored)
		p.replays(w.Environment(), true)
		c := w.claimOf("alice")
		check(t, c.State() == sale.Cancelled && c.Unit == sale.UnitKept, "got %+v, want it cancelled and its unit kept", c)
		s := w.Current()
		check(t, s.Cancelled == 1 && s.Version >= 1_000_000, "got %+v", s)
		w.Settled(2)
	},
	"what is cancelled under a replay stands": func(t *testing.T, w *World) {
		p := w.cancels()
		refund := "REFUND#moutai stripe#alice"
		for _, p.lost.Claims = range [][]sale.Claim{p.lost.Claims, nil} {
			restored := maps.Clone(p.kept)
			if p.lost.Claims == nil {
				p.lost.Refunds, restored[refund] = nil, p.full[refund]
			}
			p.becomes(restored)
			once := once(func() { p.tampers("CLAIM#moutai#0", "alice", "cancelledAt", 77) })
			l := w.Hooked(func(op string, in any, call func() (any, error)) (any, error) {
				if update, ok := in.(*dynamodb.UpdateItemInput); ok && strings.Contains(*update.UpdateExpression, "#cancelledAt") {
					once()
				}
				return call()
			})
			_, _ = maintenance.Of(l).Replay(w.Ctx, p.scanner(), p.lost, true)
			w.hasNumber(77, "CLAIM#moutai#0", "alice", "cancelledAt")
		}
	},
	"a cancelled order of whose payment nothing tells is for people": func(t *testing.T, w *World) {
		w.OpenPriced(5, 1)
		id := w.Ordered("alice")[0]
		p := &past{World: w, kept: w.table(), lost: maintenance.Lost{RestoredTo: w.Now()}}
		w.Settles(PaymentOf(id, "a"))
		w.operatorCancels("alice", id, sale.Paid, sale.UnitBack)
		p.remember("alice")
		c := &p.lost.Claims[0]
		c.PaidAt, c.Payment, c.Amount, c.Currency = time.Time{}, "", 0, "" // its OrderPaid is lost
		p.lost.Refunds = nil
		p.becomes(p.kept)
		done := p.replays(w.Environment(), true)
		check(t, len(done.Problems) == 1 && strings.Contains(done.Problems[0], "add its event OrderPaid to EVENTS"), "got %q", done.Problems)
	},
	"a refund due for a released order tells of a release that nothing else tells": func(t *testing.T, w *World) {
		w.OpenPriced(3, 1)
		orders := w.Ordered("alice", "bob")
		p := &past{World: w, kept: w.table(), lost: maintenance.Lost{RestoredTo: w.Now()}}
		w.Cancels("alice")
		w.Settles(PaymentOf(orders[0], "a"))
		w.Pass(payWithin + ledger.DefaultGrace + time.Second)
		w.releases(1, 2)
		w.Settles(PaymentOf(orders[1], "b"))
		orders = append(orders, w.Ordered("carol")...)
		maps.Copy(p.kept, table{"CLAIM#moutai#0 carol": w.Item("CLAIM#moutai#0", "carol")})
		w.recalls("", true)
		w.ReleasesBy(w.Environment())
		w.Pass(time.Second)
		w.Settles(PaymentOf(orders[2], "c"))
		refunds, err := w.Environment().Refunds(w.Ctx, "moutai")
		if err != nil || len(refunds) != 3 {
			t.Fatal(refunds, err)
		}
		p.full = w.table()
		for kept, want := range map[string]maintenance.Replayed{
			"":                {Refunds: 3, Guards: 3, Releases: 3, Shards: 1},
			"REFUND PAYMENT ": {Halves: 3 + 3, Shards: 1}, // each note and release
			"PAYMENT ":        {Halves: 2 + 2, Shards: 1}, // each refund and release
			"CLAIM PAYMENT ":  {Halves: 3},                // each refund, which its claim notes
		} {
			restored, users := maps.Clone(p.full), map[string]sale.ReleasedBy{"alice": sale.ByBuyer, "bob": sale.ByExpiry, "carol": sale.ByOperator}
			for key := range p.full {
				switch kind, _, _ := strings.Cut(key, "#"); {
				case (kind == "CLAIM" || kind == "STOCK") && !strings.Contains(kept, "CLAIM "):
					restored[key] = p.kept[key]
				case (kind == "REFUND" || kind == "PAYMENT") && !strings.Contains(kept, kind+" "):
					delete(restored, key)
				}
			}
			switch p.lost.Refunds = nil; kept {
			case "":
				p.lost.Refunds = refunds
			case "PAYMENT ": // which does not say why: the order had not expired
				delete(restored, "PAYMENT#stripe#a PAYMENT")
				delete(users, "alice")
			}
			p.becomes(restored)
			for _, write := range []bool{false, true} {
				got := p.replays(w.Environment(), write)
				check(t, cmp.Equal(got, want), "with %s, write %t: %s", kept, write, cmp.Diff(want, got))
			}
			for user, by := range users {
				c := w.claimOf(user)
				check(t, c.ReleasedBy == by && len(c.Refunds) == 1, "with %s: %s has %+v, want it released by %s", kept, user, c, by)
			}
			w.Settled(1)
		}
	},
	"a release by a replay changes no claim that has ended since it was read": func(t *testing.T, w *World) {
		w.OpenPriced(2, 1)
		p := &past{World: w, lost: maintenance.Lost{RestoredTo: w.Now()}}
		for i, order := range w.Ordered("alice", "bob") {
			user := []string{"alice", "bob"}[i]
			p.lost.Claims = append(p.lost.Claims, w.claimOf(user))
			p.lost.Refunds = append(p.lost.Refunds, sale.Refund{
				SaleID: "moutai", Payment: "stripe#" + user, User: user, OrderID: order, Amount: 1, Currency: "CNY", At: w.Now().Add(time.Second), Reason: sale.RefundReleased,
			})
		}
		ends := []func(){func() { w.paid("alice", 1) }, func() { w.releasedClaim("bob", 1, "buyer") }}
		p.replays(w.Hooked(func(_ string, in any, call func() (any, error)) (any, error) {
			if update, is := in.(*dynamodb.UpdateItemInput); is && strings.Contains(*update.UpdateExpression, "releasedAt") && len(ends) > 0 {
				ends[0]()
				ends = ends[1:]
			}
			return call()
		}), true)
		alice, bob := w.Item("CLAIM#moutai#0", "alice"), w.Item("CLAIM#moutai#0", "bob")
		if len(ends) > 0 || alice["releasedAt"] != nil || alice["paidAt"] == nil || value(bob["releasedAt"]) == fmt.Sprint(p.lost.Refunds[1].At.UnixMilli()) {
			t.Errorf("%d claims were not to be released; %v, %v", len(ends), alice, bob)
		}
	},
	"a refund due besides a payment that nothing tells is named, until an event tells the payment": func(t *testing.T, w *World) {
		w.OpenPriced(1, 1)
		order := w.Ordered("alice")[0]
		p := &past{World: w, kept: w.table(), lost: maintenance.Lost{RestoredTo: w.Now(), Claims: []sale.Claim{w.claimOf("alice")}}}
		w.Settles(PaymentOf(order, "first"))
		w.Settles(PaymentOf(order, "second"))
		paid := w.claimOf("alice")
		paid.Refunds = nil
		var err error
		if p.lost.Refunds, err = w.Environment().Refunds(w.Ctx, "moutai"); err != nil || len(p.lost.Refunds) != 1 {
			t.Fatal(p.lost.Refunds, err)
		}
		p.full = w.table()
		guarded := maps.Clone(p.kept)
		guarded["PAYMENT#stripe#first PAYMENT"] = p.full["PAYMENT#stripe#first PAYMENT"]
		p.becomes(guarded)
		for _, write := range []bool{false, true} {
			done := p.replays(w.Environment(), write)
			check(t, len(done.Problems) == 0 && (!write || cmp.Equal(promised(p.full), promised(p.table()))), "with its guard, write %t: %+v", write, done)
		}
		p.becomes(p.kept)
		for _, write := range []bool{false, true, true} {
			done := p.replays(w.Environment(), write)
			check(t, len(done.Problems) == 1 && strings.Contains(done.Problems[0], "stripe#second"), "write %t: %q", write, done.Problems)
		}
		p.lost.Claims[0] = paid
		for _, write := range []bool{false, true} {
			done := p.replays(w.Environment(), write)
			check(t, len(done.Problems) == 0 && done.Payments == 1, "with its event, write %t: %+v", write, done)
		}
		noDiff(t, promised(p.full), promised(p.table()))
	},
}
