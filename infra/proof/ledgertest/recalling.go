package ledgertest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// pauseSettles is longer than a claim can be hidden after the last shard was paused, by whichever
// clocks: a pass that begins then may complete the recall.
const pauseSettles = time.Minute + ledger.SettleTime

// recalls recalls the sale, and expects whether that changes it.
func (w *World) recalls(note string, applied bool) sale.Sale {
	w.T.Helper()
	r := sale.Recall{SaleID: "moutai", Author: sale.Author{Note: note}}
	w.Succeeds(nil, r.Check())
	got, err := w.Environment().Recall(w.Ctx, r)
	if err != nil || got.Applied != applied || !got.Sale.IsRecalled() || !got.Sale.Paused {
		w.T.Fatalf("recall: %+v (%v), want it applied: %t", got, err, applied)
	}
	return got.Sale
}

// finishes makes one pass of a recall, and expects what it does and whether it is the last.
func (w *World) finishes(l *ledger.Ledger, released int, putBack int64, refunded int, complete bool) ledger.ReleaseResult {
	w.T.Helper()
	done := w.ReleasesBy(l)
	if done.Complete != complete || done.Released != released || done.PutBack != putBack || done.Refunded != refunded {
		w.T.Errorf("got %+v, want %d released, %d put back, %d refunds, complete: %t", done, released, putBack, refunded, complete)
	}
	listing, err := w.Ledger.Listing(w.Ctx, "moutai")
	check(w.T, err == nil && listing.Recalling != complete, "got %+v (%v), want it to be recalling: %t", listing, err, !complete)
	return done
}

// goesBack expects that the payment of the user's order is its order's, and that it goes back, which its
// provider is told at another report.
func (w *World) goesBack(user string, p sale.Payment, at time.Time) {
	w.T.Helper()
	w.goesBackBecause(sale.RefundRecalled, user, p, at)
}

// goesBackBecause is the same of a payment that goes back for that reason.
func (w *World) goesBackBecause(reason sale.RefundReason, user string, p sale.Payment, at time.Time) {
	w.T.Helper()
	c := w.claimOf(user)
	got, err := w.Environment().RefundsOf(w.Ctx, c)
	want := sale.Refund{
		SaleID: "moutai", Payment: p.ID(), OrderID: c.OrderID, User: user, Reason: reason, Amount: p.Amount, Currency: p.Currency, At: at,
	}
	check(w.T, err == nil && c.Payment == p.ID() && len(got) == 1 && got[0] == want, "%s holds %+v with %+v (%v), want %+v", user, c, got, err, want)
	again := w.Settles(p)
	check(w.T, again.Refund != nil && *again.Refund == want && !again.New, "its provider is told %+v, want %+v", again, want)
}

// Knowing is an environment that has just read the sale.
func (w *World) Knowing() *ledger.Ledger {
	w.T.Helper()
	l := w.Environment()
	w.Succeeds(l.Sale(w.Ctx, "moutai"))
	return l
}

// refundedMeanwhile recalls a sale whose one order is paid. It returns the payment, an environment whose first
// transaction another pass overtakes, which records and marks the refund, and when that is.
func (w *World) refundedMeanwhile() (sale.Payment, *ledger.Ledger, time.Time) {
	w.T.Helper()
	w.Open(9, 2)
	p := PaymentOf(w.Ordered("alice")[0], "pi_1")
	w.Settles(p)
	w.recalls("", true)
	w.Pass(pauseSettles)
	slow := w.overtaken("TransactWriteItems", func() {
		w.Pass(time.Second)
		w.finishes(w.Environment(), 0, 0, 1, true)
		m := w.Ledger.MarkRefunds(w.Ctx, "moutai", []string{p.ID()}, "")[0]
		check(w.T, m.Err == nil && m.Marked, "got %+v, want it marked", m)
	})
	return p, slow, w.Now().Add(time.Second)
}

var recalling = map[string]func(*testing.T, *World){
	"a recalled sale sells nothing, releases what is not paid, and gives back what is": func(t *testing.T, w *World) {
		c := w.OpenUnpaid(9, 2)
		ids := w.Ordered("alice", "bob")
		paid := PaymentOf(ids[1], "pi_1")
		w.Settles(paid)
		w.Pass(time.Second)
		at := w.Now()
		s := w.recalls("soles come off", true)
		check(t, s.RecalledAt.Equal(at) && s.ChangedAt.Equal(at), "recalled at %v, changed at %v, want both %v", s.RecalledAt, s.ChangedAt, at)
		w.hasNumber(sale.ReadsRecalls, "SALE#moutai", "SALE", "minReader")
		w.hasNumber(2, "SALE#moutai", "SALE", "version")
		w.Refused(sale.Recalled, w.buys("carol"))
		w.Pass(pauseSettles)
		same(t, w.finishes(w.Environment(), 1, 1, 1, true).OldestDueSeconds, int64(pauseSettles/time.Second))
		claim := w.claimOf("alice")
		check(t, claim.State() == sale.Cancelled && claim.ReleasedBy == sale.ByOperator, "got %+v", claim)
		w.goesBack("bob", paid, w.Now())
		late := PaymentOf(ids[0], "pi_2")
		w.refunded(late, "moutai", "alice", sale.RefundReleased)
		w.Settled(2)
		w.Pass(time.Hour)
		again := w.recalls("another note", false)
		check(t, again.RecallNote == "soles come off" && again.RecalledAt.Equal(at), "got %+v", again)
		w.Pass(c.ClosesAt.Sub(w.Now()) + ledger.DrainAfter)
		r, _ := w.audit()
		check(t, r.Balanced && r.Finished && r.Paid == 1 && r.Released == 1 && r.RefundsDue == 2 && w.drained(r), "got %+v, want it finished", r)
		w.marksRefunded("moutai", late.ID())
		for _, known := range []*ledger.Receipt{{}, w.Listing().Books} { // the first are another pass's
			w.Succeeds(nil, w.Environment().CountRefunds(w.Ctx, &ledger.RefundCount{SaleID: "moutai", Books: known}))
			now, is := w.Listing().Books, known.Seeded > 0
			if sums := now.Money["CNY"]; now.Claims != 2 || (now.RefundsDue == 1) != is || (sums == ledger.Sums{Taken: late.Amount, Due: late.Amount, Refunded: late.Amount}) != is {
				t.Errorf("the books of the drained sale are %+v", now)
			}
		}
	},
	"a sale that asks for no payment is recalled, too, also when it is drained": func(t *testing.T, w *World) {
		c := w.Open(9, 2)
		ids := w.Ordered("alice", "bob")
		paid := PaymentOf(ids[0], "pi_1")
		w.Settles(paid)
		w.Pass(c.ClosesAt.Sub(w.Now()) + ledger.DrainAfter)
		w.drains()
		w.recalls("", true)
		r, _ := w.audit()
		check(t, !r.Finished && r.Unpaid == 1 && !w.drained(r), "got %+v, want an unpaid order", r)
		w.Pass(pauseSettles)
		w.finishes(w.Environment(), 1, 1, 1, true)
		w.goesBack("alice", paid, w.Now())
		w.states(map[string]sale.ClaimState{"alice": sale.Paid, "bob": sale.Cancelled})
		w.Settled(2)
		r, _ = w.audit()
		check(t, r.Balanced && r.Finished && w.drained(r), "got %+v, want it finished", r)
	},
	"a pass waits for claims that have no order id yet": func(t *testing.T, w *World) {
		w.OpenUnpaid(9, 2)
		w.Ordered("alice")
		late := w.bought("bob")
		w.recalls("", true)
		w.Pass(pauseSettles)
		w.finishes(w.Environment(), 1, 1, 0, false)
		w.finishes(w.Environment(), 0, 0, 0, false)
		w.Confirmed(late)
		w.finishes(w.Environment(), 1, 1, 0, true) // alice's order was just released, and the shards show it
		w.states(map[string]sale.ClaimState{"alice": sale.Cancelled, "bob": sale.Cancelled})
		w.Settled(2)
	},
	"two seconds after a recall every report of a payment is told that it goes back": func(t *testing.T, w *World) {
		w.OpenUnpaid(9, 2)
		ids := w.Ordered("alice", "bob", "carol")
		before, during, after := PaymentOf(ids[0], "pi_1"), PaymentOf(ids[1], "pi_2"), PaymentOf(ids[2], "pi_3")
		w.Settles(before)
		l := w.Knowing()
		w.recalls("", true)
		done, err := l.Pay(w.Ctx, during)
		check(t, err == nil && done.Refund == nil && done.New, "in an environment that cannot know: %+v (%v)", done, err)
		w.Pass(2 * time.Second)
		for _, p := range []sale.Payment{before, during, after} {
			for _, isNew := range []bool{p == after, false} {
				done, err := l.Pay(w.Ctx, p)
				if err != nil || done.Refund == nil || done.Refund.Reason != sale.RefundRecalled || done.New != isNew {
					t.Errorf("%s: %+v (%v), want a refund for the recall, new: %t", p.Reference, done, err, isNew)
				}
			}
		}
		for i, user := range []string{"alice", "bob", "carol"} {
			w.goesBack(user, []sale.Payment{before, during, after}[i], w.Now())
		}
		other := PaymentOf(ids[2], "pi_4")
		w.refunded(other, "moutai", "carol", sale.RefundOtherPayment)
		w.Pass(pauseSettles)
		w.finishes(w.Environment(), 0, 0, 0, true)
		w.Settled(2)
		r, _ := w.audit()
		check(t, r.Balanced && r.RefundsDue == 4, "got %+v", r)
	},
	"the pass pauses the shards that the recall did not reach, and takes the claims that they sold": func(t *testing.T, w *World) {
		w.Open(9, 2)
		old := w.Knowing() // remembers the sale as it was
		ctx, cut := w.cutAfter(1)
		w.Refused(sale.Busy, errOf(cut.Recall(ctx, sale.Recall{SaleID: "moutai"})))
		p := w.Accepted(old.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice"}))
		w.Confirmed([]ledger.ClaimRef{{SaleID: "moutai", User: "alice", ClaimID: p.Claim.ID}})
		w.Pass(pauseSettles)
		w.finishes(w.Environment(), 1, 1, 0, false)
		w.Pass(pauseSettles - 1)
		w.finishes(w.Environment(), 0, 0, 0, false)
		w.Pass(1)
		w.finishes(w.Environment(), 0, 0, 0, true)
		w.allPaused(2)
		w.Settled(2)
		w.refunded(PaymentOf(w.claimOf("alice").OrderID, "pi_late"), "moutai", "alice", sale.RefundReleased)
		r, _ := w.audit()
		check(t, r.RefundsDue == 1, "got %+v, want one refund due", r)
	},
	"a resumption that began before the recall does not let it sell": func(t *testing.T, w *World) {
		w.Open(9, 2)
		w.edit(sale.Edit{SaleID: "moutai", Paused: new(true)})
		// The recall comes between what the resumption writes: after the sale, before its shards.
		slow := w.overtaken("UpdateItem", func() { w.recalls("", true) })
		w.Refused(sale.Recalled, errOf(slow.Edit(w.Ctx, sale.Edit{SaleID: "moutai", Paused: new(false)})))
		w.Refused(sale.Recalled, w.buys("alice"))
		w.allPaused(2)
	},
	"a recall is written over the edit that overtook it": func(t *testing.T, w *World) {
		w.Open(9, 2)
		slow := w.overtaken("TransactWriteItems", func() { w.edit(sale.Edit{SaleID: "moutai", Paused: new(true), At: w.Now().Add(30 * time.Second)}) })
		got, err := slow.Recall(w.Ctx, sale.Recall{SaleID: "moutai"})
		want := w.Now().Add(30*time.Second + time.Millisecond)
		check(t, err == nil && got.Applied && got.Sale.RecalledAt.Equal(want), "got %+v (%v), want it recalled at %v", got, err, want)
		w.finishes(w.Environment(), 0, 0, 0, false)
		w.Pass(pauseSettles)
		w.finishes(w.Environment(), 0, 0, 0, true)
	},
	"after a recall a pause and a withdrawal are harmless, and no other change is made": func(t *testing.T, w *World) {
		c := w.Open(9, 2)
		w.recalls("", true)
		w.Pass(pauseSettles)
		w.edit(sale.Edit{SaleID: "moutai", Paused: new(true)})
		for name, e := range map[string]sale.Edit{
			"resume":     {SaleID: "moutai", Paused: new(false)},
			"reschedule": {SaleID: "moutai", OpensAt: c.OpensAt, ClosesAt: c.ClosesAt.Add(time.Hour)},
			"both":       {SaleID: "moutai", Paused: new(true), OpensAt: c.OpensAt, ClosesAt: c.ClosesAt.Add(time.Hour)},
		} {
			t.Log(name)
			w.Refused(sale.Recalled, errOf(w.Ledger.Edit(w.Ctx, e)))
		}
		w.Refused(sale.Recalled, errOf(w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "more", Stock: 1})))
		w.finishes(w.Environment(), 0, 0, 0, true)
		got, err := w.Ledger.Withdraw(w.Ctx, sale.Withdrawal{SaleID: "moutai", SeedID: "rest", Stock: 9})
		check(t, err == nil && got.Units == 9, "got %+v (%v)", got, err)
	},
	"a recall that only the listing shows yet releases nothing": func(_ *testing.T, w *World) { // plain reads see a transaction item by item
		w.overdueOf(9, 1, "alice")
		w.tamper("SALES", "moutai", "SET recalling = :at", attributes(map[string]any{":at": w.Now()}))
		w.releasesNothing(w.Environment())
	},
	"a recall is complete only after a pass that began a while after every shard was paused": func(t *testing.T, w *World) {
		for name, meets := range map[string]func(){
			"its caller died and repeats it": func() {
				ctx, cut := w.cutAfter(1)
				w.Refused(sale.Busy, errOf(cut.Recall(ctx, sale.Recall{SaleID: "moutai"})))
				w.Pass(3 * time.Minute)
				w.recalls("", false)
			},
			"its caller died, and so did a pass": func() {
				ctx, cut := w.cutAfter(1)
				w.Refused(sale.Busy, errOf(cut.Recall(ctx, sale.Recall{SaleID: "moutai"})))
				w.Pass(3 * time.Minute)
				ctx, cut = w.cutAfter(1)
				if done, _ := cut.ReleaseDue(ctx, w.Listing(), grace); done.Complete || w.Listing().Releasing != nil {
					t.Fatalf("got %+v, want it cut off before it noted anything", done)
				}
			},
			"its caller's note was not taken": func() {
				w.recalls("", true)
				w.tamper("SALES", "moutai", "REMOVE releasing", nil)
				w.Pass(3 * time.Minute)
			},
		} {
			w.becomes(table{})
			w.Open(4, 1)
			meets()
			done := w.ReleasesBy(w.Environment())
			check(t, !done.Complete, "%s: complete, and an order may still be hidden", name)
			w.Pass(pauseSettles)
			w.finishes(w.Environment(), 0, 0, 0, true)
		}
	},
	"a recall by a clock that is ahead is complete by the clock of its passes": func(t *testing.T, w *World) {
		w.OpenUnpaid(9, 2)
		w.Ordered("alice")
		ahead := ledger.New(w.Engine.API, w.Engine.Table, ledger.Options{Now: func() time.Time { return w.Now().Add(time.Hour) }})
		w.Succeeds(ahead.Cancel(w.Ctx, "moutai", "alice"))
		w.Succeeds(ahead.Recall(w.Ctx, sale.Recall{SaleID: "moutai"}))
		w.finishes(w.Environment(), 0, 1, 0, false)
		w.Pass(pauseSettles)
		w.finishes(w.Environment(), 0, 0, 0, true)
	},
	"a recall whose shards are paused takes one pass, and repeating it does not put that off": func(t *testing.T, w *World) {
		w.OpenUnpaid(9, 2)
		w.Ordered("alice")
		w.tamper("SALES", "moutai", "SET releasing = :x", text(`{"began":"2026-11-11T12:00:00Z","bucket":0,"after":"zoe"}`))
		at := w.recalls("", true).RecalledAt
		w.Pass(pauseSettles - time.Second)
		w.recalls("", false)
		p := w.Listing().Releasing
		check(t, p != nil && p.RecalledAt.Equal(at) && p.PausedAt.Equal(at) && p.After == "", "the listing says %+v, want the recall's own pass", p)
		w.Pass(time.Second)
		w.finishes(w.Environment(), 1, 1, 0, true)
		w.recalls("", false)
		p = w.Listing().Releasing
		check(t, p == nil, "after the recall is complete the listing says %+v", p)
	},
	"a pass after which the unit of another may still be hidden is not the last": func(t *testing.T, w *World) {
		w.Open(9, 1)
		w.Ordered("alice")
		w.recalls("", true)
		w.Pass(pauseSettles)
		before := w.Item("STOCK#moutai#0", "STOCK")
		ctx, dies := w.cutAfter(1) // after it has released the claim
		if done, _ := dies.ReleaseDue(ctx, w.Listing(), grace); done.PutBack != 0 || done.Complete {
			t.Fatalf("got %+v, want it dead", done)
		}
		after := w.Item("STOCK#moutai#0", "STOCK")
		w.place(before) // plain reads see a transaction item by item
		w.finishes(w.Environment(), 0, 0, 0, false)
		w.place(after)
		w.Pass(pauseSettles)
		w.finishes(w.Environment(), 0, 1, 0, true)
		w.Settled(1)
	},
	"a pass that goes on behind such a claim is not the last, either": func(t *testing.T, w *World) {
		w.Create(w.Sale(40, 16)) // four buckets
		first, last := usersOf(0, 4, 1)[0], usersOf(3, 4, 1)[0]
		w.Ordered(first, last)
		s := w.recalls("", true)
		w.Pass(pauseSettles)
		shard := fmt.Sprint("STOCK#moutai#", w.claimOf(first).Shard)
		before := w.Item(shard, "STOCK")
		w.finishes(w.Environment(), 2, 2, 0, true)
		after := w.Item(shard, "STOCK")
		w.place(before) // so the shards count as many as the rest of the pass sees
		w.tamper("SALES", "moutai", "SET recalling = :at", attributes(map[string]any{":at": s.RecalledAt}))
		listing := w.Listing()
		listing.Releasing = &ledger.ReleasePass{Began: w.Now(), Bucket: 3, RecalledAt: s.RecalledAt, PausedAt: s.RecalledAt}
		done, err := w.Environment().ReleaseDue(w.Ctx, listing, grace)
		check(t, err == nil && !done.Complete, "got %+v (%v), want no end", done, err)
		w.place(after)
		w.finishes(w.Environment(), 0, 0, 0, true)
	},
	"a recall's pass continues where it was cut off, and remembers that it must begin again": func(t *testing.T, w *World) {
		c := w.Sale(40, 16) // four buckets
		w.Create(c)
		w.Ordered(usersOf(0, 4, 2)...)
		w.Ordered(usersOf(3, 4, 1)...)
		s := w.recalls("", true)
		w.Pass(pauseSettles)
		listing := w.Listing()
		listing.Releasing = &ledger.ReleasePass{Began: w.Now(), Bucket: 3, RecalledAt: s.RecalledAt, PausedAt: s.RecalledAt, Again: true}
		done, err := w.Environment().ReleaseDue(w.Ctx, listing, grace)
		check(t, err == nil && !done.Complete && done.Released == 1, "got %+v (%v), want the last bucket's claim released, and no end", done, err)
		w.finishes(w.Environment(), 2, 2, 0, true)
	},
	"many payments go back in batches, several at once, and the listing notes one of them": func(t *testing.T, w *World) {
		w.Open(200, 2)
		users := usersOf(0, 1, 60)
		for _, id := range w.Ordered(users...) {
			w.Settles(PaymentOf(id, "pi_"+strings.Repeat("x", int(id%7))+time.Duration(id).String()))
		}
		w.recalls("", true)
		w.Pass(pauseSettles)
		var mu sync.Mutex
		transactions := 0
		counting := w.Hooked(func(op string, _ any, call func() (any, error)) (any, error) {
			out, err := call()
			if mu.Lock(); op == "TransactWriteItems" && err == nil {
				transactions++
			}
			mu.Unlock()
			return out, err
		})
		w.finishes(counting, 0, 0, 60, true)
		listing, err := w.Ledger.Listing(w.Ctx, "moutai")
		check(t, err == nil && listing.RefundAt.Equal(w.Now()) && transactions == 6, "got %+v (%v) after %d transactions", listing, err, transactions)
		for _, user := range users {
			c := w.claimOf(user)
			check(t, len(c.Refunds) == 1 && c.Refunds[0] == c.Payment, "got %+v", c)
		}
		w.Settled(2)
	},
	"a refund that another pass has recorded meanwhile stays as it is": func(t *testing.T, w *World) {
		_, slow, at := w.refundedMeanwhile()
		w.finishes(slow, 0, 0, 0, true)
		got := w.refunds("moutai")
		check(t, len(got) == 1 && got[0].At.Equal(at) && got[0].RefundedAt.Equal(at), "got %+v, want it as it was at %v", got, at)
	},
	"refunds of a recall are noted in the listing once an hour": func(t *testing.T, w *World) {
		w.OpenUnpaid(9, 2)
		ids := w.Ordered("alice", "bob")
		w.bought("carol") // keeps the recall from being complete
		w.Settles(PaymentOf(ids[0], "pi_1"))
		noted := w.Now()
		w.Settles(PaymentOf(ids[0], "pi_2")) // the order's other payment
		w.Pass(time.Hour)
		w.recalls("", true)
		notes := func(want time.Time) {
			t.Helper()
			listing := w.Listing()
			check(t, listing.RefundAt.Equal(want), "got %+v, want one of %v noted", listing, want)
		}
		w.finishes(w.Environment(), 1, 1, 1, false)
		notes(noted)
		w.tamper("CLAIM#moutai#0", "bob", "SET paidAt = :at, payment = :p REMOVE releasedAt, releasedBy", map[string]types.AttributeValue{
			":at": &types.AttributeValueMemberN{Value: "1794427200000"}, ":p": &types.AttributeValueMemberS{Value: "stripe#pi_3"},
		})
		w.Pass(time.Millisecond)
		w.finishes(w.Environment(), 0, 0, 1, false)
		notes(w.Now())
	},
	"a pass that dies, or whose refund fails, leaves that to the next one": func(t *testing.T, w *World) {
		w.Open(9, 1)
		w.Ordered("alice")
		w.Settles(PaymentOf(w.Ordered("bob")[0], "pi_1"))
		w.recalls("", true)
		w.Pass(pauseSettles)
		dies := w.failing("TransactWriteItems", 1)
		if done, err := dies.ReleaseDue(w.Ctx, w.Listing(), grace); sale.CodeOf(err) != sale.Internal || done.PutBack != 0 {
			t.Fatalf("got %+v (%v), want it to die after its first transaction", done, err)
		}
		for range 2 { // the first one may see what the dead one has written
			w.ReleasesBy(w.Environment())
		}
		w.Pass(pauseSettles)
		w.finishes(w.Environment(), 0, 0, 0, true)
		w.states(map[string]sale.ClaimState{"alice": sale.Cancelled, "bob": sale.Paid})
		if refunds, stock := w.refunds("moutai"), w.Stock(1)[0]; len(refunds) != 1 || stock != 8 || !w.Listing().RefundAt.Equal(refunds[0].At) {
			t.Errorf("%d units in stock, refunds %+v, the listing is %+v", stock, refunds, w.Listing())
		}
		w.Settled(1)
	},
	"what the audit says of a recall that is not complete, and of one that only looks so": func(t *testing.T, w *World) {
		for want, buy := range map[string]func(){
			"1 orders are neither paid nor released, and 0 payments of 1 go back (P35)": func() { w.Settles(PaymentOf(w.Ordered("alice", "bob")[0], "pi_1")) },
			"0 orders are neither paid nor released, and 0 payments of 1 go back (P35)": func() { w.Settles(PaymentOf(w.Ordered("alice")[0], "pi_1")) },
			"2 orders are neither paid nor released, and 0 payments of 0 go back (P35)": func() { w.Ordered("alice"); w.bought("bob") },
		} {
			w.becomes(table{})
			w.OpenUnpaid(9, 1)
			buy()
			w.recalls("", true)
			w.finds("")
			w.tamper("SALES", "moutai", "REMOVE recalling", nil)
			w.finds(want)
		}
	},
}
