package ledgertest

import (
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

var adding = map[string]func(*testing.T, *World){
	"units are added once per seed id, and the version rises": func(t *testing.T, w *World) {
		w.Open(10, 4)
		a := sale.Addition{SaleID: "moutai", SeedID: "second-batch", Stock: 6}
		for i, applied := range []bool{true, false, false} {
			s, err := w.Ledger.Add(w.Ctx, a)
			want := ledger.Seeding{SaleID: "moutai", Seeded: 16, Shards: 4, Applied: applied}
			check(t, err == nil && s == want, "time %d: got %+v (%v), want %+v", i, s, err, want)
		}
		w.left(5, 5, 3, 3)
		w.hasNumber(5, "SALE#moutai", "SALE", "version")
		w.Settled(4)
	},
	"an addition that was cut off is completed by its repeat, over more than 99 shards": func(t *testing.T, w *World) {
		w.Open(120, 120)
		a := sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 240}
		for _, writes := range []int{0, 1, 5, 60} {
			ctx, dying := w.cutAfter(writes)
			w.Refused(sale.Busy, errOf(dying.Add(ctx, a)))
		}
		s, err := w.Ledger.Add(w.Ctx, a)
		check(t, err == nil && s.Applied && s.Seeded == 360, "got %+v (%v)", s, err)
		for k, left := range w.Stock(120) {
			same(t, left, 3, "shard %d", k)
		}
	},
	"an addition that is overtaken by its own repeat is applied once": func(t *testing.T, w *World) {
		w.Open(2, 2)
		a := sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 2}
		queries := 0
		slow := w.Hooked(dynamotest.After("Query", func() {
			if queries++; queries != 2 { // of the trail, and then of the receipts
				return
			}
			if s, err := w.Ledger.Add(w.Ctx, a); err != nil || !s.Applied {
				t.Fatalf("got %+v (%v)", s, err)
			}
		}))
		s, err := slow.Add(w.Ctx, a)
		check(t, err == nil && !s.Applied && s.Seeded == 4, "got %+v (%v), want 4 units, not applied by this one", s, err)
		w.Settled(2)
	},
	"a sale that is not listed gets no units, gives none back and is not rescheduled": func(t *testing.T, w *World) {
		w.Open(2, 1)
		w.place(moved(w.Item("SALE#moutai", "SALE"), "SALE#unlisted", "SALE"))
		w.place(moved(w.Item("STOCK#moutai#0", "STOCK"), "STOCK#unlisted#0", "STOCK"))
		w.Refused(sale.Internal, errOf(w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "unlisted", SeedID: "s", Stock: 1})))
		w.Refused(sale.Internal, errOf(w.Ledger.Withdraw(w.Ctx, sale.Withdrawal{SaleID: "unlisted", SeedID: "typo", Stock: 1})))
		w.Refused(sale.Internal, errOf(w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "unlisted", At: w.Now(), OpensAt: w.Now(), ClosesAt: w.Now().Add(time.Hour)})))
		w.hasNoItem("SALES", "unlisted")
		w.hasNumber(2, "STOCK#unlisted#0", "STOCK", "stock")
	},
	"an addition beyond the maxStock is refused, and its seed id stays free": func(t *testing.T, w *World) {
		w.limited(6, 2, 10)
		before := len(w.Partition("SALE#moutai"))
		w.refusedBecause("the sale's maxStock leaves room for 4 more units", sale.Conflicting, errOf(w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 5})))
		after := len(w.Partition("SALE#moutai"))
		check(t, after == before && w.Number("SALE#moutai", "SALE", "seeded") == 6, "%d items, before %d", after, before)
		s := w.Add("s", 4)
		check(t, s.Applied && s.Seeded == 10, "up to the maxStock: got %+v", s)
		s = w.Add("s", 4)
		check(t, !s.Applied && s.Seeded == 10, "the repeat, without room: got %+v", s)
		w.Refused(sale.Conflicting, errOf(w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "one-more", Stock: 1})))
	},
	"a withdrawal gives room back for as many units as it took": func(t *testing.T, w *World) {
		w.limited(6, 2, 6)
		w.bought("alice")
		w.withdraws(w.Ledger, "typo", 99, done(5, 1, 2, true))
		w.Refused(sale.Conflicting, errOf(w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 6})))
		same(t, w.Add("s", 5).Seeded, 6)
		w.withdraws(w.Ledger, "part", 1, done(1, 5, 2, true))
		same(t, w.Add("one", 1).Seeded, 6)
	},
}
