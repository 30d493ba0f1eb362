package ledgertest

import (
	"fmt"
	"testing"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// withdraws withdraws units in that environment, and expects what is left behind.
func (w *World) withdraws(l *ledger.Ledger, seedID string, units int64, want ledger.Withdrawn) {
	w.T.Helper()
	want.SaleID = "moutai"
	got, err := l.Withdraw(w.Ctx, sale.Withdrawal{SaleID: "moutai", SeedID: seedID, Stock: units})
	check(w.T, err == nil && got == want, "withdraw %d: got %+v (%v), want %+v", units, got, err, want)
	w.Settled(want.Shards)
}

// done is what a withdrawal leaves behind.
func done(units, seeded int64, shards int, applied bool) ledger.Withdrawn {
	return ledger.Withdrawn{Units: units, Seeding: ledger.Seeding{Seeded: seeded, Shards: shards, Applied: applied}}
}

// left expects the units of the shards.
func (w *World) left(want ...int64) {
	w.T.Helper()
	same(w.T, fmt.Sprint(w.Stock(len(want))), fmt.Sprint(want))
}

// empty expects which shards everybody is told to be empty.
func (w *World) empty(shards int, want ...int) {
	w.T.Helper()
	s := w.Current()
	var set sale.Set
	for _, k := range want {
		set.Add(k)
	}
	if s.Empty != set || s.SoldOut() != (len(want) == shards) {
		w.T.Errorf("%d shards are said to be empty, want %v", s.Empty.Len(), want)
	}
}

var withdrawing = map[string]func(*testing.T, *World){
	"units are withdrawn once per seed id, and the version rises with each shard": func(t *testing.T, w *World) {
		w.Open(10, 4)
		for i := range 3 {
			w.withdraws(w.Ledger, "typo", 5, done(5, 5, 4, i == 0))
		}
		w.left(2, 1, 1, 1)
		w.empty(4)
		w.hasNumber(5, "SALE#moutai", "SALE", "version")
		for _, step := range []string{"0", "1", "2", "3"} {
			units := w.Number("SALE#moutai", "WITHDRAWN#typo#"+step, "units")
			check(t, units >= 1, "step %s took %d units", step, units)
		}
		w.hasNoItem("SALE#moutai", "WITHDRAWN#typo#4")
		w.withdraws(w.Environment(), "another", 2, done(2, 3, 4, true))
	},
	"a withdrawal of all units sells the sale out": func(t *testing.T, w *World) {
		w.Open(6, 3)
		w.bought("alice")
		w.withdraws(w.Environment(), "all", 5, done(5, 1, 3, true))
		w.empty(3, 0, 1, 2)
		before := w.Number("SALE#moutai", "SALE", "version")
		w.Refused(sale.SoldOut, w.buys("bob"))
		w.hasNumber(before, "SALE#moutai", "SALE", "version")
		w.Add("s", 1)
		w.empty(3, 1, 2)
		w.Accepted(w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "bob"}))
	},
	"a seed id stands for one action and one number of units": func(t *testing.T, w *World) {
		w.Open(9, 2)
		w.Add("added", 3)
		w.withdraws(w.Ledger, "typo", 3, done(3, 9, 2, true))
		for _, w1 := range []sale.Withdrawal{{SaleID: "moutai", SeedID: "added", Stock: 3}, {SaleID: "moutai", SeedID: "typo", Stock: 4}} {
			w.Refused(sale.Conflicting, errOf(w.Ledger.Withdraw(w.Ctx, w1)))
		}
		w.Refused(sale.Conflicting, errOf(w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "typo", Stock: 3})))
		w.Refused(sale.Conflicting, errOf(w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "added", Stock: 2})))
		w.left(5, 4)
	},
	"a withdrawal that was cut off is completed by its repeat, over more than 99 shards": func(t *testing.T, w *World) {
		w.Open(600, 120)
		for _, writes := range []int{0, 1, 5, 60} {
			ctx, dying := w.cutAfter(writes)
			w.Refused(sale.Busy, errOf(dying.Withdraw(ctx, sale.Withdrawal{SaleID: "moutai", SeedID: "typo", Stock: 480})))
		}
		w.withdraws(w.Ledger, "typo", 480, done(480, 120, 120, true))
		for k, left := range w.Stock(120) {
			same(t, left, 1, "shard %d", k)
		}
	},
	"units that are sold or added between the look at a shard and its step are not taken twice": func(t *testing.T, w *World) {
		for i, c := range []struct {
			stock, take  int64
			sold, added  int
			taken, stays int64
		}{
			{stock: 2, take: 2, sold: 1, taken: 1, stays: 0},           // all of it became less
			{stock: 3, take: 2, sold: 1, taken: 2, stays: 0},           // a part of it became all of it
			{stock: 3, take: 2, sold: 2, taken: 1, stays: 0},           // and less
			{stock: 2, take: 2, sold: 2, taken: 0, stays: 0},           // nothing is left
			{stock: 2, take: 2, added: 3, taken: 2, stays: 3},          // all of it became a part
			{stock: 4, take: 2, sold: 1, taken: 2, stays: 1},           // still a part
			{stock: 2, take: 5, sold: 1, added: 3, taken: 4, stays: 0}, // another round finds the rest
		} {
			c1 := w.Sale(c.stock, 1)
			c1.SaleID = fmt.Sprint("sale-", i)
			w.Create(c1)
			slow := w.overtaken("BatchGetItem", func() {
				for n := range c.sold {
					w.Succeeds(w.Ledger.Purchase(w.Ctx, ledger.Request{SaleID: c1.SaleID, User: fmt.Sprint("user-", n)}))
				}
				if c.added == 0 {
					return
				}
				w.Succeeds(w.Ledger.Add(w.Ctx, sale.Addition{SaleID: c1.SaleID, SeedID: "s", Stock: int64(c.added)}))
			})
			got, err := slow.Withdraw(w.Ctx, sale.Withdrawal{SaleID: c1.SaleID, SeedID: "typo", Stock: c.take})
			want := c.stock + int64(c.added) - c.taken
			check(t, err == nil && got.Units == c.taken && got.Seeded == want, "%+v: took %d of %d seeded (%v), want %d", c, got.Units, got.Seeded, err, want)
			pk := fmt.Sprintf("STOCK#%s#0", c1.SaleID)
			if stock, seeded := w.Number(pk, "STOCK", "stock"), w.Number(pk, "STOCK", "seeded"); stock != c.stays || seeded != got.Seeded {
				t.Errorf("%+v: the shard has %d of %d units", c, stock, seeded)
			}
			// Whoever takes the last unit of a shard closes it. A buyer does so later.
			s, err := w.Environment().Sale(w.Ctx, c1.SaleID)
			if bought := int64(c.sold) == c.stock; err != nil || s.SoldOut() != (c.stays == 0 && !bought) {
				t.Errorf("%+v: sold out is %t (%v)", c, s.SoldOut(), err)
			}
		}
	},
	"a withdrawal that is overtaken by a step of its repeat takes no more than the rest": func(_ *testing.T, w *World) {
		for added, left := range map[int][]int64{1: {1, 1, 1}, 5: {3, 2, 2}} { // which the step takes as well
			w.becomes(table{})
			w.Open(9, 3)
			slow := w.overtaken("BatchGetItem", func() {
				for i := range added {
					w.Add(fmt.Sprint("s", i), 1)
				}
				ctx, dying := w.cutAfter(1) // one shard
				w.Refused(sale.Busy, errOf(dying.Withdraw(ctx, sale.Withdrawal{SaleID: "moutai", SeedID: "typo", Stock: 7})))
			})
			w.withdraws(slow, "typo", 7, done(7, int64(9+added-7), 3, true))
			w.left(left...)
		}
	},
	"a sale that is drained is audited again after a withdrawal": func(t *testing.T, w *World) {
		c := w.Open(4, 2)
		w.Confirmed(w.bought("alice"))
		w.Pass(c.ClosesAt.Sub(w.Now()) + ledger.DrainAfter)
		r := w.drains()
		w.withdraws(w.Ledger, "back", 99, done(3, 1, 2, true))
		listed, err := w.Ledger.Listings(w.Ctx)
		check(t, err == nil && len(listed) == 1, "got %+v (%v), want the sale listed", listed, err)
		check(t, !w.drained(r), "drained again by the receipt of before")
		if r, _ = w.audit(); !r.Finished || !r.Balanced || r.Seeded != 1 || r.Stock != 0 || !w.drained(r) {
			t.Errorf("got %+v, want a drained sale", r)
		}
	},
}
