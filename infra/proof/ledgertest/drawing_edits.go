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
		paused := w.edit(sale.Edit{SaleID: "moutai", ChangeID: "p", At: before.Add(time.Second), Paused: ptr(true)})
		if !paused.Applied || !paused.Sale.Paused || !paused.Sale.ChangedAt.Equal(call.At.Add(time.Millisecond)) || !paused.Sale.OperatedAt.Equal(before.Add(time.Second)) {
			t.Errorf("got %+v", paused)
		}
		w.changed(1, true, call.At.Add(time.Millisecond))
		if again := w.edit(sale.Edit{SaleID: "moutai", ChangeID: "p", At: before.Add(time.Second), Paused: ptr(true)}); again.Applied {
			t.Error("the same pause was applied twice")
		}
		// The one before that pause is older, the one after it is not, although the call is newer than either.
		w.Refused(sale.Conflicting, errOf(w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "moutai", At: before, Paused: ptr(false)})))
		if resumed := w.edit(sale.Edit{SaleID: "moutai", At: before.Add(2 * time.Second), Paused: ptr(false)}); !resumed.Applied || resumed.Sale.Paused {
			t.Errorf("got %+v", resumed)
		}
		w.Refused(sale.Conflicting, errOf(w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "moutai", ChangeID: "p", At: before.Add(time.Second), Paused: ptr(true)})))
		w.Refused(sale.Conflicting, errOf(w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "moutai", At: before.Add(2 * time.Second), Paused: ptr(true)})))
		at := w.Now()
		for i := range 2 {
			e := w.edit(sale.Edit{SaleID: "moutai", Paused: ptr(false)})
			if want := at.Add(time.Duration(i) * time.Millisecond); !e.Applied || !e.Sale.OperatedAt.Equal(want) || !e.Sale.ChangedAt.Equal(want) {
				t.Errorf("edit %d without an instant: got %+v", i, e)
			}
		}
	},
	"a call is newer than an edit of the same millisecond": func(t *testing.T, w *World) {
		_, _, ranks := w.rolled(2, 1, 8)
		e := w.edit(sale.Edit{SaleID: "moutai", Paused: ptr(false)})
		if call, want := w.calls(ranks), e.Sale.ChangedAt.Add(time.Millisecond); !call.At.Equal(want) {
			t.Errorf("the call is of %v, want %v", call.At, want)
		}
	},
	"the draw of a sale becomes later only": func(t *testing.T, w *World) {
		c := w.OpenDraw(2, 1)
		lead := c.OpensAt.Sub(c.EnterUntil)
		s := func(e sale.Edit) error {
			e.SaleID, e.DrawLead = "moutai", lead
			_, err := w.Ledger.Edit(w.Ctx, e)
			return err
		}
		for name, e := range map[string]sale.Edit{
			"an earlier beginning": {OpensAt: c.OpensAt.Add(-time.Millisecond), ClosesAt: c.ClosesAt},
			"an earlier end":       {OpensAt: c.OpensAt, ClosesAt: c.ClosesAt.Add(-time.Millisecond)},
			"the end of no call":   {OpensAt: c.OpensAt, ClosesAt: c.ClosesAt, Until: c.ClosesAt},
		} {
			if err := s(e); sale.CodeOf(err) != sale.Conflicting {
				t.Errorf("%s: %v", name, err)
			}
		}
		lead += time.Hour + time.Millisecond
		if err := s(sale.Edit{OpensAt: c.OpensAt.Add(time.Hour), ClosesAt: c.ClosesAt}); sale.CodeOf(err) != sale.Conflicting {
			t.Errorf("too early for the dice: %v", err)
		}
		lead -= time.Millisecond
		if err := s(sale.Edit{OpensAt: c.OpensAt.Add(time.Hour), ClosesAt: c.ClosesAt.Add(time.Hour)}); err != nil {
			t.Error(err)
		}
		d := w.state().Sale
		if !d.BeginsAt.Equal(c.OpensAt.Add(time.Hour)) || d.OpensAt != d.BeginsAt || !d.EndsAt.Equal(c.ClosesAt.Add(time.Hour)) || d.ClosesAt != d.EndsAt {
			t.Errorf("got %+v", d)
		}
		w.hasNumber(d.EndsAt.UnixMilli(), "SALES", "moutai", "closesAt")
		lead -= time.Hour
		if err := s(sale.Edit{OpensAt: d.BeginsAt.Add(-time.Millisecond), ClosesAt: d.EndsAt}); sale.CodeOf(err) != sale.Conflicting {
			t.Errorf("earlier than before, if late enough for the dice: %v", err)
		}
	},
	"a call may end later, and never earlier": func(t *testing.T, w *World) {
		c, users, ranks := w.rolled(2, 1, 8)
		call := w.calls(ranks)
		before := w.everything()
		edit := func(e sale.Edit) error {
			e.SaleID = "moutai"
			_, err := w.Environment().Edit(w.Ctx, e)
			return err
		}
		for name, e := range map[string]sale.Edit{
			"another beginning":      {OpensAt: c.OpensAt.Add(time.Hour), ClosesAt: c.ClosesAt},
			"an earlier end":         {OpensAt: c.OpensAt, ClosesAt: c.ClosesAt, Until: call.Until.Add(-time.Millisecond)},
			"an end after the sale":  {OpensAt: c.OpensAt, ClosesAt: c.ClosesAt, Until: c.ClosesAt.Add(time.Millisecond)},
			"an earlier end of all":  {OpensAt: c.OpensAt, ClosesAt: c.ClosesAt.Add(-time.Millisecond)},
			"an end before the call": {OpensAt: c.OpensAt, ClosesAt: c.ClosesAt, Until: c.OpensAt},
		} {
			if err := edit(e); sale.CodeOf(err) != sale.Conflicting {
				t.Errorf("%s: %v", name, err)
			}
		}
		w.unchanged(before)
		w.Add("units", 1)
		taken := sale.Edit{ChangeID: "units", OpensAt: c.OpensAt, ClosesAt: c.ClosesAt, Until: call.Until.Add(time.Hour)}
		w.refusedBecause("the change id was used for another change", sale.Conflicting, edit(taken))
		longer := sale.Edit{ChangeID: "longer", OpensAt: c.OpensAt, ClosesAt: c.ClosesAt.Add(time.Hour), Until: call.Until.Add(time.Hour)}
		for range 2 {
			if err := edit(longer); err != nil {
				t.Error(err)
			}
		}
		other := longer
		other.Until = other.Until.Add(time.Hour)
		w.refusedBecause("the change id was used for another change", sale.Conflicting, edit(other))
		call.Until = call.Until.Add(time.Hour)
		w.callItem(1, map[string]any{"from": call.From, "until": call.Until, "lo": call.Lo.String(), "hi": call.Hi.String(), "stock": 2})
		if w.Number("STOCK#moutai#0", "STOCK", "closesAt") != call.Until.UnixMilli() || w.Number("STOCK#moutai#0", "STOCK", "opensAt") != call.From.UnixMilli() ||
			w.Number("SALES", "moutai", "closesAt") != longer.ClosesAt.UnixMilli() || w.Number("SALE#moutai", "SALE", "endsAt") != longer.ClosesAt.UnixMilli() {
			t.Error("the sale, its shard and its listing are not as the edit asks")
		}
		w.moment(call.Until.Add(-time.Millisecond))
		w.allBuy(users[0])
		// It is the same request after the next call has begun.
		w.next(ranks)
		if err := edit(longer); err != nil {
			t.Error(err)
		}
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
			if d := w.state(); !d.Last.Until.Equal(want) || !d.Sale.ClosesAt.Equal(want) {
				t.Errorf("%v later: the call ends at %v, want %v", later, d.Last.Until, want)
			}
		}
		w.next(ranks)
		open := w.next(ranks)
		end := open.Until.Add(5 * time.Hour)
		w.edit(sale.Edit{SaleID: "moutai", OpensAt: c.OpensAt, ClosesAt: end})
		if d := w.state(); !open.Open || !d.Last.Until.Equal(end) || !d.Sale.ClosesAt.Equal(end) {
			t.Errorf("the open call ends at %v, want %v", d.Last.Until, end)
		}
	},
}
