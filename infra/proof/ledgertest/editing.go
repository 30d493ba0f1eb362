package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

var editing = map[string]func(*testing.T, *World){
	"an edit without an instant is of now, and applies over one that lies ahead": func(t *testing.T, w *World) {
		w.Open(10, 3)
		ahead := w.Now().Add(sale.MaxAhead)
		w.edit(sale.Edit{SaleID: "moutai", At: ahead, Paused: new(false)})
		for i, want := range []time.Time{ahead.Add(time.Millisecond), ahead.Add(2 * time.Millisecond)} {
			got := w.edit(sale.Edit{SaleID: "moutai", Paused: new(true)})
			check(t, got.Applied && got.Sale.Paused && got.Sale.ChangedAt.Equal(want), "pause %d: got %+v, want it applied at %v", i, got, want)
		}
		for i := range 10 {
			w.Refused(sale.Paused, errOf(w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: fmt.Sprint("user-", i)})))
		}
		w.changed(3, true, ahead.Add(2*time.Millisecond))
		w.Pass(time.Hour / 2)
		got := w.edit(sale.Edit{SaleID: "moutai", Paused: new(false)})
		check(t, got.Applied && got.Sale.ChangedAt.Equal(w.Now()), "resume: got %+v, want it applied at %v", got, w.Now())
		w.changed(3, false, w.Now())
		w.Accepted(w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice"}))
	},
	"an older edit that disagrees is an error that names the edit that stands": func(t *testing.T, w *World) {
		w.Open(10, 2)
		w.edit(sale.Edit{SaleID: "moutai", At: w.Now(), Paused: new(true)})
		for _, older := range []time.Duration{0, time.Millisecond, time.Hour} { // 0: another edit of the same instant
			for says, e := range map[string]sale.Edit{
				"the sale is paused": {Paused: new(false)},
				"the sale is open from 2026-11-11T19:59:00.000Z to 2026-11-11T21:00:00.000Z": {OpensAt: w.Now(), ClosesAt: w.Now().Add(2 * time.Hour)},
			} {
				e.SaleID, e.At = "moutai", w.Now().Add(-older)
				w.refusedBecause("an edit of 2026-11-11T20:00:00.000Z stands: "+says, sale.Conflicting, errOf(w.Ledger.Edit(w.Ctx, e)))
			}
		}
		w.changed(2, true, w.Now())
		w.Pass(time.Second)
		w.edit(sale.Edit{SaleID: "moutai", At: w.Now(), Paused: new(false)})
		w.refusedBecause("an edit of 2026-11-11T20:00:01.000Z stands: the sale is not paused", sale.Conflicting, errOf(w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "moutai", At: w.Now().Add(-time.Second), Paused: new(true)})))
		w.changed(2, false, w.Now())
	},
	"an edit that is overtaken before its shards leaves the newer one in them": func(t *testing.T, w *World) {
		w.Open(10, 3)
		newer := w.Now().Add(time.Millisecond)
		overtaken := w.overtaken("UpdateItem", func() { w.edit(sale.Edit{SaleID: "moutai", Paused: new(false)}) })
		w.Refused(sale.Conflicting, errOf(overtaken.Edit(w.Ctx, sale.Edit{SaleID: "moutai", Paused: new(true)})))
		w.changed(3, false, newer)
	},
	"an edit that was cut off and overtaken by another leaves no shard behind": func(_ *testing.T, w *World) {
		w.Open(40, 40)
		ctx, dying := w.cutAfter(10)
		w.Refused(sale.Busy, errOf(dying.Edit(ctx, sale.Edit{SaleID: "moutai", At: w.Now(), Paused: new(true)})))
		w.Pass(time.Second)
		w.edit(sale.Edit{SaleID: "moutai", At: w.Now(), OpensAt: w.Now().Add(-time.Hour), ClosesAt: w.Now().Add(time.Hour)})
		w.changed(40, true, w.Now())
		w.Refused(sale.Paused, w.buys("alice"))
	},
}

// changed checks that the sale and every shard have the newest edit.
func (w *World) changed(shards int, paused bool, at time.Time) {
	w.T.Helper()
	check := func(pk, sk string) {
		w.T.Helper()
		it := w.Item(pk, sk)
		if got, when := value(it["paused"]), w.Number(pk, sk, "changedAt"); got != fmt.Sprint(paused) || when != at.UnixMilli() {
			w.T.Errorf("%s: paused is %s since %v, want %t since %v", pk, got, time.UnixMilli(when).UTC(), paused, at)
		}
	}
	check("SALE#moutai", "SALE")
	for k := range shards {
		check(fmt.Sprintf("STOCK#moutai#%d", k), "STOCK")
	}
}
