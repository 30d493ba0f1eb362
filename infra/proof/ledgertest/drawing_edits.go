package ledgertest

import (
	"testing"
	"time"

	"flashsale/shared/sale"
)

// editingDraws is what operators and schedules do to a sale with a draw.
var editingDraws = map[string]func(*testing.T, *World){
	"calls change nothing about which of two edits stands": func(t *testing.T, w *World) {
		_, _, ranks := w.rolled(2, 1, 8)
		before := w.Now()
		w.Pass(10 * time.Second)
		call := w.calls(ranks)
		// A schedule's pause was meant for an instant before the call and arrives after it.
		paused := w.edit(sale.Edit{SaleID: "moutai", ChangeID: "p", At: before.Add(time.Second), Paused: new(true)})
		if !paused.Applied || !paused.Sale.Paused || !paused.Sale.ChangedAt.Equal(call.At.Add(time.Millisecond)) || !paused.Sale.OperatedAt.Equal(before.Add(time.Second)) {
			t.Errorf("got %+v", paused)
		}
		w.changed(1, true, call.At.Add(time.Millisecond))
		again := w.edit(sale.Edit{SaleID: "moutai", ChangeID: "p", At: before.Add(time.Second), Paused: new(true)})
		check(t, !again.Applied, "the same pause was applied twice")
		// The one before that pause is older, the one after it is not, although the call is newer than either.
		w.Refused(sale.Conflicting, errOf(w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "moutai", At: before, Paused: new(false)})))
		resumed := w.edit(sale.Edit{SaleID: "moutai", At: before.Add(2 * time.Second), Paused: new(false)})
		check(t, resumed.Applied && !resumed.Sale.Paused, "got %+v", resumed)
		w.Refused(sale.Conflicting, errOf(w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "moutai", ChangeID: "p", At: before.Add(time.Second), Paused: new(true)})))
		w.Refused(sale.Conflicting, errOf(w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "moutai", At: before.Add(2 * time.Second), Paused: new(true)})))
		at := w.Now()
		for i := range 2 {
			e := w.edit(sale.Edit{SaleID: "moutai", Paused: new(false)})
			want := at.Add(time.Duration(i) * time.Millisecond)
			check(t, e.Applied && e.Sale.OperatedAt.Equal(want) && e.Sale.ChangedAt.Equal(want), "edit %d without an instant: got %+v", i, e)
		}
	},
	"the draw of a sale becomes later only": func(t *testing.T, w *World) {
		c := w.OpenDraw(2, 1)
		lead := c.OpensAt.Sub(c.EnterUntil) // what the dice need
		later, end := c.OpensAt.Add(time.Hour), c.ClosesAt.Add(time.Hour)
		for name, e := range map[string]sale.Edit{
			"an earlier beginning":   {OpensAt: c.OpensAt.Add(-time.Millisecond), ClosesAt: c.ClosesAt, DrawLead: lead},
			"an earlier end":         {OpensAt: c.OpensAt, ClosesAt: c.ClosesAt.Add(-time.Millisecond), DrawLead: lead},
			"the end of no call":     {OpensAt: c.OpensAt, ClosesAt: c.ClosesAt, Until: c.ClosesAt, DrawLead: lead},
			"too early for the dice": {OpensAt: later, ClosesAt: c.ClosesAt, DrawLead: lead + time.Hour + time.Millisecond},
		} {
			e.SaleID = "moutai"
			t.Log(name)
			w.Refused(sale.Conflicting, errOf(w.Ledger.Edit(w.Ctx, e)))
		}
		w.edit(sale.Edit{SaleID: "moutai", OpensAt: later, ClosesAt: end, DrawLead: lead + time.Hour})
		d := w.state().Sale
		check(t, d.BeginsAt.Equal(later) && d.OpensAt == d.BeginsAt && d.EndsAt.Equal(end) && d.ClosesAt == d.EndsAt, "got %+v", d)
		w.hasNumber(end.UnixMilli(), "SALES", "moutai", "closesAt")
		w.hasNoItem("DRAW#moutai", "CALL#0000000000")
		earlier := sale.Edit{SaleID: "moutai", OpensAt: later.Add(-time.Millisecond), ClosesAt: end, DrawLead: lead} // late enough for the dice
		w.Refused(sale.Conflicting, errOf(w.Ledger.Edit(w.Ctx, earlier)))
	},
	"a call may end later, and never earlier": func(t *testing.T, w *World) {
		c, users, ranks := w.rolled(2, 1, 8)
		call := w.calls(ranks)
		before := w.everything()
		edit := func(e sale.Edit) error {
			e.SaleID = "moutai"
			return errOf(w.Environment().Edit(w.Ctx, e))
		}
		for name, e := range map[string]sale.Edit{
			"another beginning":      {OpensAt: c.OpensAt.Add(time.Hour), ClosesAt: c.ClosesAt},
			"an earlier end":         {OpensAt: c.OpensAt, ClosesAt: c.ClosesAt, Until: call.Until.Add(-time.Millisecond)},
			"an end after the sale":  {OpensAt: c.OpensAt, ClosesAt: c.ClosesAt, Until: c.ClosesAt.Add(time.Millisecond)},
			"an earlier end of all":  {OpensAt: c.OpensAt, ClosesAt: c.ClosesAt.Add(-time.Millisecond)},
			"an end before the call": {OpensAt: c.OpensAt, ClosesAt: c.ClosesAt, Until: c.OpensAt},
		} {
			hasCode(t, sale.Conflicting, edit(e), "%s", name)
		}
		w.unchanged(before)
		longer := sale.Edit{ChangeID: "longer", OpensAt: c.OpensAt, ClosesAt: c.ClosesAt.Add(time.Hour), Until: call.Until.Add(time.Hour)}
		w.Succeeds(nil, edit(longer))
		other := longer
		other.Until = other.Until.Add(time.Hour)
		w.refusedBecause("the change id was used for another change", sale.Conflicting, edit(other))
		call.Until = call.Until.Add(time.Hour)
		w.callItem(1, map[string]any{"from": call.From, "until": call.Until, "lo": call.Lo.String(), "hi": call.Hi.String(), "stock": 2})
		w.hasNumber(call.Until.UnixMilli(), "STOCK#moutai#0", "STOCK", "closesAt")
		w.hasNumber(call.From.UnixMilli(), "STOCK#moutai#0", "STOCK", "opensAt")
		w.hasNumber(longer.ClosesAt.UnixMilli(), "SALES", "moutai", "closesAt")
		w.hasNumber(longer.ClosesAt.UnixMilli(), "SALE#moutai", "SALE", "endsAt")
		w.moment(call.Until.Add(-time.Millisecond))
		w.allBuy(users[0])
		w.next(ranks)
		w.Succeeds(nil, edit(longer)) // it is the same request after the next call has begun
	},
	"a later end of the sale moves the call along that would have lasted longer": func(t *testing.T, w *World) {
		c, _, ranks := w.rolled(2, 1, 3)
		w.moment(c.ClosesAt.Add(-time.Hour))
		first := w.calls(ranks)
		if !first.Until.Equal(c.ClosesAt) {
			t.Fatalf("got %+v, want a call until the end", first)
		}
		for _, later := range []time.Duration{time.Hour, 24 * time.Hour} {
			w.edit(sale.Edit{SaleID: "moutai", OpensAt: c.OpensAt, ClosesAt: c.ClosesAt.Add(later)})
			want := c.ClosesAt.Add(later)
			if most := first.From.Add(keepFor); most.Before(want) {
				want = most
			}
			d := w.state()
			check(t, d.Last.Until.Equal(want) && d.Sale.ClosesAt.Equal(want), "%v later: the call ends at %v, want %v", later, d.Last.Until, want)
		}
		w.next(ranks)
		open := w.next(ranks)
		end := open.Until.Add(5 * time.Hour)
		w.edit(sale.Edit{SaleID: "moutai", OpensAt: c.OpensAt, ClosesAt: end})
		d := w.state()
		check(t, open.Open && d.Last.Until.Equal(end) && d.Sale.ClosesAt.Equal(end), "the open call ends at %v, want %v", d.Last.Until, end)
	},
}
