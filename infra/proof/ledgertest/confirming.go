package ledgertest

import (
	"slices"
	"testing"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

var confirming = map[string]func(*testing.T, *World){
	"confirming gives each claim one order id, in time order, and an order item": func(t *testing.T, w *World) {
		w.Open(50, 5)
		refs := w.bought(people(25)...)
		first := w.Confirmed(refs[:10])
		w.Pass(time.Second)
		second := w.Confirmed(refs[10:])
		all := append(slices.Clone(first), second...)
		check(t, slices.IsSorted(first) && slices.Max(first) < slices.Min(second), "ids do not sort by confirmation: %v then %v", first, second)
		slices.Sort(all)
		hasLen(t, slices.Compact(all), 25)
		for i, ref := range refs {
			id := append(slices.Clone(first), second...)[i]
			c, err := w.Ledger.Claim(w.Ctx, "moutai", ref.User)
			check(t, err == nil && c.OrderID == id && c.State() == sale.Confirmed, "claim %+v (%v), want order %d", c, err, id)
			o, err := w.Ledger.Order(w.Ctx, id)
			want := sale.Order{ID: id, SaleID: "moutai", User: ref.User, ClaimID: ref.ClaimID}
			check(t, err == nil && o == want, "got order %+v (%v), want %+v", o, err, want)
		}
		got := orderid.Time(first[0])
		check(t, got.Equal(Start), "id says %v, want %v", got, Start)
	},
	"confirming again gives the same id and takes no new one": func(t *testing.T, w *World) {
		w.Open(10, 1)
		refs := w.bought("alice", "bob")
		first := w.Confirmed(refs)
		w.Pass(48 * time.Hour)
		again := w.Environment().Confirm(w.Ctx, refs)
		for i, c := range again {
			check(t, c.Err == nil && !c.New && c.Order.ID == first[i], "got %+v, want order %d again", c, first[i])
		}
		w.hasNoItem("SEQ#2026-11-13", "SEQ")
	},
	"each poison claim fails alone and leaves no trace": func(t *testing.T, w *World) {
		w.Open(10, 4)
		good := w.bought("alice", "bob")
		before := w.everything()
		poison := []ledger.ClaimRef{
			{SaleID: "unknown", User: "alice", ClaimID: "claim-1"},
			{SaleID: "moutai", User: "nobody", ClaimID: "claim-1"},
			{SaleID: "moutai", User: "alice", ClaimID: "another"},
			{SaleID: "unknown", User: "alice", ClaimID: "claim-1", Buckets: 1},
			{SaleID: "moutai", User: "nobody", ClaimID: "claim-1", Buckets: 1},
			{SaleID: "moutai", User: "alice", ClaimID: "another", Buckets: 7},
		}
		for i, c := range w.Ledger.Confirm(w.Ctx, poison) {
			hasCode(t, sale.Poison, c.Err, "%v", poison[i])
		}
		w.unchanged(before)
		mixed := append(append([]ledger.ClaimRef{good[0]}, poison...), good[1])
		for i, c := range w.Ledger.Confirm(w.Ctx, mixed) {
			same(t, c.Err == nil, i == 0 || i == len(mixed)-1, "%v: %v", mixed[i], c.Err)
		}
		w.hasNumber(2, "SEQ#2026-11-11", "SEQ", "next")
	},
	"a claim that becomes another between its reading and its order id gets none": func(t *testing.T, w *World) {
		w.Open(2, 1)
		refs := w.bought("alice")
		slow := w.overtaken("BatchExecuteStatement", func() {
			w.tamper("CLAIM#moutai#0", "alice", "SET claimId = :x", text("another"))
		})
		c := slow.Confirm(w.Ctx, refs)
		check(t, sale.CodeOf(c[0].Err) == sale.Poison, "got %+v, want poison", c[0])
		it := w.Item("CLAIM#moutai#0", "alice")
		check(t, it["orderId"] == nil, "got an order id: %v", it)
	},
	"a claim that another finalizer confirms between its reading and its order id keeps the other's id": func(t *testing.T, w *World) {
		w.Open(2, 1)
		refs := w.bought("alice")
		var first []uint64
		slow := w.overtaken("BatchExecuteStatement", func() { first = w.Confirmed(refs) })
		c := slow.Confirm(w.Ctx, refs)[0]
		check(t, c.Err == nil && !c.New && c.Order.ID == first[0], "got %+v, want order %d, not new", c, first[0])
		held, err := w.Ledger.Claim(w.Ctx, "moutai", "alice")
		check(t, err == nil && held.OrderID == first[0], "got claim %+v (%v), want order %d", held, err, first[0])
	},
}
