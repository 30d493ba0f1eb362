package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/ledger"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// extends gives the unpaid orders of the sale time until then, by a new environment.
func (w *World) extends(until time.Time) ledger.Edited {
	w.T.Helper()
	e := sale.Edit{SaleID: "moutai", PayUntil: until}
	w.Succeeds(nil, e.Check(w.Now()))
	done, err := w.Environment().Edit(w.Ctx, e)
	if err != nil || !done.Sale.PayUntil.Equal(until) {
		w.T.Fatalf("extend: got %+v (%v), want it until %v", done, err, until)
	}
	return done
}

// overdueOf opens a sale with orders of these users, which are due now.
func (w *World) overdueOf(stock int64, shards int, users ...string) {
	w.T.Helper()
	c := w.Sale(stock, shards)
	c.PayWithin, c.ClosesAt = payWithin, w.Now().Add(3*time.Hour)
	w.Create(c)
	w.Ordered(users...)
	w.Pass(payWithin + grace)
}

var extending = map[string]func(*testing.T, *World){
	"no order expires before the time that was given, whenever it was made, and each does after it": func(t *testing.T, w *World) {
		w.overdueOf(9, 2, "alice")
		until := w.Now().Add(time.Hour)
		w.extends(until)
		w.Ordered("bob")
		w.Pass(59 * time.Minute)
		late := orderid.Time(w.Ordered("late")[0]).Add(payWithin)
		if s := w.Current(); !s.PayBy(w.claimOf("alice").OrderID).Equal(until) || !s.PayBy(w.claimOf("late").OrderID).Equal(late) || !s.PayBy(0).IsZero() {
			t.Errorf("alice pays by %v, late by %v", s.PayBy(w.claimOf("alice").OrderID), s.PayBy(w.claimOf("late").OrderID))
		}
		w.moment(until.Add(grace - time.Millisecond))
		w.releases(0, 0)
		by := w.Listing().NextPayBy
		check(t, by.Equal(until), "the next order is to be paid by %v, want %v", by, until)
		w.Pass(time.Millisecond)
		same(t, w.releases(2, 2).OldestDueSeconds, 0)
		w.moment(late.Add(grace))
		w.releases(1, 1)
		w.states(map[string]sale.ClaimState{"alice": sale.Expired, "bob": sale.Expired, "late": sale.Expired})
		w.Settled(2)
		w.finds("")
	},
	"a pass that had read the sale before releases nothing after the answer, and the next one goes on": func(t *testing.T, w *World) {
		w.overdueOf(40, 2, people(6)...)
		until := w.Now().Add(time.Hour)
		extend := once(func() { w.extends(until) })
		w.releasesNothing(w.Hooked(dynamotest.Before("Query", extend)))
		check(t, w.Listing().Releasing != nil, "how far the pass came is not stored")
		w.releases(0, 0)
		w.moment(until.Add(grace))
		w.releases(6, 6)
		w.Settled(2)
	},
	"time that was given is not taken back, and the same again completes an edit that was cut off": func(t *testing.T, w *World) {
		w.OpenUnpaid(9, 3)
		until := w.Now().Add(time.Hour)
		ctx, dying := w.cutAfter(2)
		w.Refused(sale.Busy, errOf(dying.Edit(ctx, sale.Edit{SaleID: "moutai", ChangeID: "x1", PayUntil: until})))
		for _, again := range []sale.Edit{{ChangeID: "x1"}, {ChangeID: "x2"}} {
			again.SaleID, again.PayUntil = "moutai", until
			done := w.edit(again)
			check(t, done.Applied == (again.ChangeID == "x2") && done.Sale.PayUntil.Equal(until), "%s: got %+v", again.ChangeID, done)
			w.changed(3, false, w.Current().ChangedAt)
		}
		less := sale.Edit{SaleID: "moutai", ChangeID: "less", PayUntil: until.Add(-time.Millisecond)}
		w.refusedBecause("more time was given before, until 2026-11-11T21:00:00Z, and none of it is taken back", sale.Conflicting, errOf(w.Ledger.Edit(w.Ctx, less)))
		w.Refused(sale.Conflicting, errOf(w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "moutai", ChangeID: "x1", PayUntil: until.Add(time.Hour)}))) // another change's id
		w.Pass(time.Hour)
		done := w.edit(sale.Edit{SaleID: "moutai", ChangeID: "x1", PayUntil: until})
		check(t, !done.Applied, "a repeat after the time: got %+v", done)
	},
	"more time that is older than the newest edit is not given": func(t *testing.T, w *World) {
		w.OpenUnpaid(9, 1)
		at := w.Now()
		w.Pass(time.Second)
		w.edit(sale.Edit{SaleID: "moutai", At: w.Now(), Paused: new(true)})
		w.refusedBecause("an edit of 2026-11-11T20:00:01.000Z stands: no more time was given", sale.Conflicting,
			errOf(w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "moutai", At: at, PayUntil: w.Now().Add(time.Hour)})))
	},
	"no more time is given where none is asked for, to a recalled sale, or to a time that is over": func(t *testing.T, w *World) {
		w.Open(9, 1)
		give := func(until time.Time) error {
			return errOf(w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "moutai", PayUntil: until}))
		}
		w.refusedBecause("the sale asks for no payment", sale.Conflicting, give(w.Now().Add(time.Hour)))
		c := w.Sale(9, 1)
		c.SaleID, c.PayWithin = "other", payWithin
		w.Create(c)
		w.refusedBecause("until must be later than now", sale.Conflicting, errOf(w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "other", PayUntil: w.Now()})))
		w.changes("other", sale.ActionRecall, "r", sale.Author{})
		w.Refused(sale.Recalled, errOf(w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "other", PayUntil: w.Now().Add(time.Hour)})))
		w.Refused(sale.SaleNotFound, errOf(w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "nowhere", PayUntil: w.Now().Add(time.Hour)})))
	},
	"the sale alone needs a newer reader, also of orders that are made afterwards": func(t *testing.T, w *World) {
		w.OpenUnpaid(9, 1)
		w.Ordered("alice")
		w.extends(w.Now().Add(time.Hour))
		w.allBuy("bob")
		w.hasNumber(sale.ReadsOperators, "SALE#moutai", "SALE", "minReader")
		w.hasNumber(sale.ReadsPayment, "SALES", "moutai", "minReader")
		for _, user := range []string{"alice", "bob"} {
			w.hasNumber(sale.ReadsPayment, "CLAIM#moutai#0", user, "minReader")
		}
	},
	"a sealed sale needs the reader that it needed before": func(t *testing.T, w *World) {
		for _, raised := range []bool{false, true} { // between the look at the sale and its seal
			w.becomes(table{})
			c := w.OpenUnpaid(9, 1)
			w.Settles(PaymentOf(w.Ordered("alice")[0], "pi_1"))
			extend := func() { w.extends(w.Now().Add(time.Hour)) }
			w.Pass(time.Second)
			if !raised {
				extend()
			}
			w.ends(c)
			l := w.Environment()
			if raised {
				l = w.overtaken("TransactWriteItems", extend)
			}
			same(t, maintenance.Of(l).Erase(w.Ctx, "alice", func(maintenance.Held) {}) != nil, raised)
			if raised {
				w.erases(w.Environment(), "alice")
			}
			w.hasNumber(sale.ReadsOperators, "SALE#moutai", "SALE", "minReader")
		}
	},
	"more time is in the trail, and its event says until when": func(t *testing.T, w *World) {
		w.OpenUnpaid(9, 1)
		until := w.Now().Add(time.Hour)
		w.changes("moutai", sale.ActionPause, "p", sale.Author{})
		w.Pass(time.Second)
		w.edit(sale.Edit{SaleID: "moutai", ChangeID: "x", PayUntil: until, Author: sale.Author{Actor: "kim", Note: "the bank was down"}})
		w.trail(9, false, `2 x extend by "kim" because the bank was down true 19:59-21:00`, `1 p pause by "" true 19:59-21:00`)
		made, _, err := w.Ledger.Trail(w.Ctx, "moutai", 1)
		check(t, err == nil && made[0].PayUntil.Equal(until), "got %+v (%v), want it until %v", made, err, until)
		told := 0
		w.Succeeds(nil, w.Ledger.Events(w.Ctx, "moutai", func(events []sale.Event) error {
			for _, e := range events {
				if e.Type == sale.EventChanged && e.Change.PayUntil.Equal(until) {
					told++
				}
			}
			return nil
		}))
		same(t, told, 1)
	},
	"an order that expired in time that had been given is a finding, five minutes after the edit": func(t *testing.T, w *World) {
		w.overdueOf(9, 1, "alice", "bob")
		until := w.Now().Add(time.Hour)
		w.extends(until)
		w.Pass(5 * time.Minute)
		w.releasedClaim("alice", 1, "expiry")
		w.finds("")
		w.moment(until.Add(-time.Second))
		w.releasedClaim("bob", 1, "expiry")
		w.finds(fmt.Sprintf("although it was to be paid by %s (P38)", until.Format(time.RFC3339)))
	},
}
