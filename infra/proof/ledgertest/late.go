package ledgertest

import (
	"testing"
	"time"

	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

const lateFor = 2 * 24 * time.Hour

// lateSale opens a sale with lateDays for ten days, with orders of these users, which are overdue now.
func (w *World) lateSale(stock int64, shards int, users ...string) (c sale.Creation, payBy time.Time) {
	w.T.Helper()
	c = w.Sale(stock, shards)
	c.PayWithin, c.LateFor, c.ClosesAt = payWithin, lateFor, w.Now().Add(10*24*time.Hour)
	w.Create(c)
	ids := w.Ordered(users...)
	w.Pass(payWithin + grace)
	return c, orderid.Time(ids[0]).Add(payWithin)
}

var late = map[string]func(*testing.T, *World){
	"an overdue order stays while units are left, and the next pass after the last one releases all": func(t *testing.T, w *World) {
		w.lateSale(4, 2, "alice", "bob")
		w.Pass(5 * time.Hour)
		w.releases(0, 0) // the first pass, which reads the claims
		for range 3 {
			done := w.releases(0, 0)
			check(t, done.ReadUnits <= 0, "%v units of claims are read, while units are left", done.ReadUnits)
			w.Pass(time.Minute)
		}
		w.Settles(PaymentOf(w.claimOf("bob").OrderID, "pi_1"))
		w.allBuy("carol", "dora")
		w.Refused(sale.SoldOut, w.buys("erin"))
		done := w.releases(1, 1)
		check(t, done.OldestDueSeconds <= 60, "overdue for %d s, of an order that was not due before the last unit was sold", done.OldestDueSeconds)
		w.states(map[string]sale.ClaimState{"alice": sale.Expired, "bob": sale.Paid})
		w.allBuy("erin")
		w.Settled(2)
	},
	"an order is released when its late days are over, to the millisecond, although units are left": func(t *testing.T, w *World) {
		_, payBy := w.lateSale(9, 2, "alice")
		first := w.releases(0, 0)
		w.moment(payBy.Add(grace + lateFor - time.Millisecond))
		if done := w.releases(0, 0); !done.NextRelease.Equal(payBy.Add(grace+lateFor)) || !first.NextRelease.Equal(done.NextRelease) {
			t.Errorf("the next release is at %v, and was at %v", done.NextRelease, first.NextRelease)
		}
		w.Pass(time.Millisecond + 3*time.Second)
		same(t, w.releases(1, 1).OldestDueSeconds, 3)
		w.extends(w.Now().Add(time.Hour))
		until := w.Now().Add(time.Hour)
		w.Ordered("bob")
		w.moment(until.Add(grace + lateFor - time.Millisecond))
		w.releases(0, 0)
		w.Pass(time.Millisecond)
		w.releases(1, 1)
	},
	"after the end an overdue order stays until its late days are over, and the sale is drained then": func(t *testing.T, w *World) {
		c, _ := w.lateSale(1, 1, "alice")
		w.releases(1, 1)
		w.moment(c.ClosesAt.Add(-time.Hour))
		payBy := orderid.Time(w.Ordered("bob")[0]).Add(payWithin)
		w.moment(payBy.Add(grace))
		w.Pass(time.Hour)
		w.releases(0, 0)
		r, _ := w.audit()
		check(t, !r.Finished && r.Balanced, "got %+v, want it unfinished", r)
		w.moment(payBy.Add(grace + lateFor))
		w.releases(1, 1)
		r, _ = w.audit()
		check(t, r.Finished && r.Balanced && w.drained(r), "got %+v, want it finished", r)
	},
	"an order that expired after the end and before its late days were over is a finding": func(t *testing.T, w *World) {
		c, _ := w.lateSale(9, 1, "alice")
		w.moment(c.ClosesAt.Add(-payWithin))
		payBy := orderid.Time(w.Ordered("bob")[0]).Add(payWithin)
		w.moment(c.ClosesAt.Add(5 * time.Minute))
		w.releasedClaim("alice", 1, "expiry") // long after its days
		w.Pass(time.Hour)
		w.finds("")
		w.releasedClaim("bob", 1, "expiry")
		w.finds("although it was to be paid by " + payBy.Add(lateFor).Format(time.RFC3339) + " (P39)")
	},
	"a sale with late days needs a newer reader": func(_ *testing.T, w *World) {
		w.lateSale(9, 1, "alice")
		for _, key := range [][2]string{{"SALE#moutai", "SALE"}, {"SALES", "moutai"}, {"CLAIM#moutai#0", "alice"}} {
			w.hasNumber(sale.ReadsOperators, key[0], key[1], "minReader")
		}
	},
}
