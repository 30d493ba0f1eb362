package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

var releasing = map[string]func(*testing.T, *World){
	"an unpaid claim is released after payBy and the grace, to the millisecond, and its unit is sold again": func(t *testing.T, w *World) {
		w.OpenUnpaid(2, 2)
		id := w.Ordered("alice")[0]
		w.Ordered("bob")
		s := w.Current()
		payBy := s.PayBy(id)
		if !payBy.Equal(orderid.Time(id).Add(payWithin)) || !s.MayReturn() {
			t.Errorf("to be paid by %v; its unit may return: %t", payBy, s.MayReturn())
		}
		e := w.Refused(sale.SoldOut, errOf(w.Buy("carol")))
		check(t, e.MayReturn, "a unit may return, and the refusal does not say so")
		w.Pass(payBy.Add(grace).Sub(w.Now()) - time.Millisecond)
		if done := w.releases(0, 0); !done.NextRelease.Equal(payBy.Add(grace)) || !w.Listing().NextPayBy.Equal(payBy) {
			t.Errorf("next due %v, want %v; the listing is %+v", done.NextRelease, payBy.Add(grace), w.Listing())
		}
		w.Settles(PaymentOf(w.claimOf("bob").OrderID, "pi_1")) // later than payBy, and in time all the same
		w.Pass(time.Millisecond)
		done := w.releases(1, 1)
		next := w.Listing().NextPayBy
		check(t, done.OldestDueSeconds == 0 && next.Equal(w.Now().Add(payWithin)), "got %+v; the next who orders pays by %v", done, next)
		w.states(map[string]sale.ClaimState{"alice": sale.Expired, "bob": sale.Paid})
		w.refunded(PaymentOf(id, "pi_2"), "moutai", "alice", sale.RefundReleased)
		w.Settled(2)
		// An environment that knew the sale as sold out learns of it by the version.
		w.Accepted(w.Buy("carol"))
		w.hasNumber(2, "SALE#moutai", "SALE", "version")
		w.Settled(2)
		w.releases(0, 0)
		claim := w.claimOf("alice")
		check(t, claim.ReleasedBy == sale.ByExpiry && !claim.ReleasedAt.Before(payBy.Add(grace)), "got %+v", claim)
	},
	"a pass whose clock is ahead delays releases by no more than the minute until the next pass": func(t *testing.T, w *World) {
		for i, tt := range []struct {
			ahead  time.Duration
			paused bool // for half an hour
		}{{10 * time.Minute, false}, {time.Minute, false}, {24 * time.Hour, false}, {10 * time.Minute, true}} {
			saleID := fmt.Sprint("sale-", i)
			c := w.Sale(5, 1)
			c.SaleID, c.PayWithin, c.OpensAt = saleID, 2*time.Hour, w.Now()
			c.ClosesAt = c.OpensAt.Add(time.Hour)
			w.Create(c)
			run := func(ahead time.Duration) int {
				t.Helper()
				listing, err := w.Ledger.Listing(w.Ctx, saleID)
				w.Succeeds(nil, err)
				l := ledger.New(w.Engine.API, w.Engine.Table, ledger.Options{Now: func() time.Time { return w.Now().Add(ahead) }})
				done, err := l.ReleaseDue(w.Ctx, listing, grace)
				w.Succeeds(nil, err)
				return done.Released
			}
			run(tt.ahead)
			due := orderid.Time(w.orderedIn(saleID, "alice")).Add(c.PayWithin + grace)
			if tt.paused {
				w.edit(sale.Edit{SaleID: saleID, At: w.Now(), Paused: &tt.paused})
				for range 30 {
					w.Pass(time.Minute)
					run(0)
				}
				w.edit(sale.Edit{SaleID: saleID, At: w.Now(), Paused: new(false)})
			}
			for released := 0; released == 0 && w.Now().Before(due.Add(time.Hour)); {
				w.Pass(time.Minute)
				released = run(0)
			}
			late := w.Now().Sub(due)
			check(t, late >= 0 && late <= 2*time.Minute, "%+v: released %v after it was due", tt, late)
		}
	},
	"a buyer cancels, once, and only what is neither pending nor paid nor expired": func(t *testing.T, w *World) {
		w.OpenUnpaid(9, 2)
		ids := w.Ordered("alice", "bob", "carol")
		w.bought("dora")
		w.Settles(PaymentOf(ids[1], "pi_1"))
		if done := w.releases(0, 0); !done.NextRelease.After(w.Now()) {
			t.Fatalf("got %+v", done)
		}
		at := w.Now()
		for range 2 {
			got, err := w.Environment().Cancel(w.Ctx, "moutai", "alice")
			if err != nil || got.State() != sale.Cancelled || got.ReleasedBy != sale.ByBuyer || !got.ReleasedAt.Equal(at) {
				t.Errorf("got %+v (%v), want it cancelled", got, err)
			}
			w.Pass(time.Second)
		}
		for user, want := range map[string]sale.Code{"bob": sale.OrderPaid, "dora": sale.OrderPending, "erin": sale.OrderNotFound} {
			_, err := w.Environment().Cancel(w.Ctx, "moutai", user)
			e := w.Refused(want, err)
			check(t, want == sale.OrderNotFound || e.Claim.User == user, "%s: got %+v", user, e)
		}
		w.Refused(sale.SaleNotFound, errOf(w.Ledger.Cancel(w.Ctx, "nowhere", "alice")))
		w.releases(0, 1) // although nothing is due for half an hour
		w.refunded(PaymentOf(ids[0], "pi_2"), "moutai", "alice", sale.RefundReleased)
		w.Pass(payWithin + grace)
		w.releases(1, 1)
		w.Refused(sale.OrderExpired, errOf(w.Environment().Cancel(w.Ctx, "moutai", "carol")))
		w.states(map[string]sale.ClaimState{"alice": sale.Cancelled, "bob": sale.Paid, "carol": sale.Expired, "dora": sale.Pending})
		w.Settled(2)
	},
	"a cancellation that a payment or another one overtakes changes nothing": func(t *testing.T, w *World) {
		w.OpenUnpaid(9, 1)
		ids := w.Ordered("alice", "bob")
		for user, overtake := range map[string]func(){
			"alice": func() { w.Settles(PaymentOf(ids[0], "pi_1")) },
			"bob":   func() { w.Cancels("bob"); w.Pass(time.Second) },
		} {
			_, err := w.overtaken("TransactWriteItems", overtake).Cancel(w.Ctx, "moutai", user)
			hasCode(t, map[string]sale.Code{"alice": sale.OrderPaid}[user], err, "%s", user)
		}
		w.states(map[string]sale.ClaimState{"alice": sale.Paid, "bob": sale.Cancelled})
		w.releases(0, 1)
		w.Settled(1)
	},
	"units that another pass has put back meanwhile are not put back again": func(t *testing.T, w *World) {
		w.OpenUnpaid(9, 1)
		w.Ordered("alice", "bob")
		w.Cancels("alice")
		done := w.ReleasesBy(w.overtaken("TransactWriteItems", func() {
			w.releases(0, 1)
			w.Cancels("bob")
		}))
		if done.PutBack != 1 || w.Stock(1)[0] != 9 {
			t.Errorf("got %+v, %v in stock, want the other unit back, too", done, w.Stock(1))
		}
		w.Settled(1)
	},
	"in a paused sale no claim expires, and a buyer may cancel": func(t *testing.T, w *World) {
		w.OpenUnpaid(9, 2)
		ids := w.Ordered("alice", "bob", "carol")
		w.Pass(payWithin + grace)
		w.edit(sale.Edit{SaleID: "moutai", At: w.Now(), Paused: new(true)})
		w.releasesNothing(w.Environment())
		w.Cancels("alice")
		w.Settles(PaymentOf(ids[1], "pi_1"))
		done := w.ReleasesBy(w.Environment())
		check(t, !done.Complete && done.Released == 0 && done.PutBack == 1, "got %+v, want the cancelled unit back", done)
		w.Pass(time.Second)
		w.edit(sale.Edit{SaleID: "moutai", At: w.Now(), Paused: new(false)})
		w.releases(1, 1)
		w.states(map[string]sale.ClaimState{"alice": sale.Cancelled, "bob": sale.Paid, "carol": sale.Expired})
		w.Settled(2)
	},
	"claims that are paid while a pass looks at them are left out, and the others released": func(t *testing.T, w *World) {
		w.OpenUnpaid(90, 3)
		users := people(80)
		ids := w.Ordered(users...)
		w.Pass(payWithin + grace)
		overtaken := w.overtaken("TransactWriteItems", func() {
			for i := 0; i < len(ids); i += 7 {
				w.Settles(PaymentOf(ids[i], fmt.Sprint("pi_", i)))
			}
			w.Cancels(users[1])
		})
		done := w.ReleasesBy(overtaken)
		check(t, done.Released == 80-12-1 && done.PutBack == 80-12 && done.Complete, "got %+v, want the 67 that are left released and 68 back", done)
		want := map[string]sale.ClaimState{}
		for i, user := range users {
			want[user] = sale.Expired
			if i%7 == 0 {
				want[user] = sale.Paid
			}
		}
		want[users[1]] = sale.Cancelled
		w.states(want)
		w.Settled(3)
	},
	"a claim that cannot be read, or of no shard of the sale, is not released, and hides no other": func(_ *testing.T, w *World) {
		w.overdueOf(9, 1, "odd", "above", "below", "alice")
		w.tamper("CLAIM#moutai#0", "odd", "SET #unit = :x", text("lost"))
		w.tamper("CLAIM#moutai#0", "above", "SET #shard = :one", one())
		w.tamper("CLAIM#moutai#0", "below", "SET #shard = #shard - :one", one())
		w.releases(1, 1)
	},
	"a pass that is cut off is continued where it was": func(t *testing.T, w *World) {
		w.OpenUnpaid(80, 16) // four buckets
		w.Ordered(usersOf(0, 4, 3)...)
		w.Ordered(usersOf(3, 4, 3)...)
		w.Pass(payWithin + grace)
		total, saved := 0, false
		for reads := 3; ; reads++ { // more from time to time
			ctx, dying := w.cutReads(min(reads, 40))
			done, err := dying.ReleaseDue(ctx, w.Listing(), grace)
			if total += done.Released; done.Complete {
				break
			}
			if err == nil || reads > 300 {
				t.Fatalf("a pass that was cut off after %d reads: %+v (%v)", reads, done, err)
			}
			saved = saved || w.Listing().Releasing != nil
		}
		listing := w.Listing()
		check(t, saved && listing.Releasing == nil, "got %+v, saved: %t", listing, saved)
		for calls := 0; w.ReleasesBy(w.Environment()).PutBack > 0; calls++ {
			if calls == 10 {
				t.Fatal("units are put back again and again")
			}
		}
		same(t, total, 6)
		w.Settled(16)
	},
	"a sale that asks for payment is drained when all is paid or back in stock": func(t *testing.T, w *World) {
		c := w.OpenPriced(9, 2)
		ids := w.Ordered("alice", "bob", "carol")
		w.Pass(c.ClosesAt.Sub(w.Now()) + ledger.DrainAfter)
		unfinished := func(when string) {
			t.Helper()
			r, _ := w.audit()
			check(t, !r.Finished && r.Balanced, "%s: got %+v", when, r)
		}
		unfinished("three are unpaid")
		w.Settles(PaymentOf(ids[0], "pi_1"))
		w.Cancels("bob")
		w.Settles(PaymentOf(ids[2], "pi_2"))
		w.tamper("CLAIM#moutai#0", "carol", "REMOVE amount, currency", nil) // by an older version
		unfinished("a unit is not back")
		w.releases(0, 1)
		w.Settles(PaymentOf(ids[1], "pi_3"))
		w.Settles(PaymentOf(ids[1], "pi_4"))
		w.marksRefunded("moutai", "stripe#pi_4")
		w.Reports(halves("pi_1", "done a 1"))
		hasSums := func(money ledger.Money, due int64) {
			t.Helper()
			sums := money["CNY"]
			check(t, sums.Taken == 2*199900 && sums.Due == due && sums.Refunded == 2*199900-due+199900/2, "got %+v, want %d due", sums, due)
		}
		r, _ := w.audit()
		if !r.Finished || !r.Balanced || r.Paid != 2 || r.Released != 1 || r.Unpaid != 0 || r.RefundsDue != 1 || !w.drained(r) {
			t.Errorf("got %+v, want it finished", r)
		}
		hasSums(r.Money, 199900)
		w.marksRefunded("moutai", "stripe#pi_3")
		w.Succeeds(nil, w.Environment().CountRefunds(w.Ctx, &ledger.RefundCount{SaleID: "moutai", Books: w.Listing().Books}))
		hasSums(w.Listing().Books.Money, 0)
	},
	"a pass that cannot put the units of one shard back is not complete": func(t *testing.T, w *World) {
		w.OpenUnpaid(4, 2)
		w.Ordered(people(4)...)
		w.Cancels(people(4)...)
		l := w.Hooked(func(op string, in any, call func() (any, error)) (any, error) {
			tx, _ := in.(*dynamodb.TransactWriteItemsInput)
			if tx != nil && tx.TransactItems[0].Update != nil && value(tx.TransactItems[0].Update.Key["pk"]) == "STOCK#moutai#0" {
				return nil, &types.ResourceNotFoundException{}
			}
			return call()
		})
		done, err := l.ReleaseDue(w.Ctx, w.Listing(), grace)
		if w.Refused(sale.Internal, err); done.Complete {
			t.Errorf("got %+v, want it to go on", done)
		}
		version := w.Number("SALE#moutai", "SALE", "version")
		w.releases(0, 4)
		w.hasNumber(version+2, "SALE#moutai", "SALE", "version") // each shard counts, also of one transaction
	},
	"a claim that expired before its time is a finding": func(t *testing.T, w *World) {
		w.OpenUnpaid(9, 2)
		w.Ordered("alice")
		w.Pass(payWithin - time.Second)
		w.releasedClaim("alice", 2, "expiry")
		w.finds("although it was to be paid by " + w.Now().Add(time.Second).Format(time.RFC3339) + " (P21)")
	},
}
