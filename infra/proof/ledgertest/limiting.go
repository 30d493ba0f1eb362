package ledgertest

import (
	"fmt"
	"sync"
	"testing"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// add adds units, or ends the test.
func (w *World) add(seedID string, units int64) ledger.Seeding {
	w.T.Helper()
	s, err := w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: seedID, Stock: units})
	if err != nil {
		w.T.Fatalf("add: %v", err)
	}
	return s
}

// limited opens a sale with a maxStock.
func (w *World) limited(stock int64, shards int, maxStock int64) sale.Creation {
	w.T.Helper()
	c := w.Sale(stock, shards)
	c.MaxStock = maxStock
	w.Create(c)
	return c
}

var limiting = map[string]func(*testing.T, *World){
	"an addition beyond the maxStock is refused, and its seed id stays free": func(t *testing.T, w *World) {
		w.limited(6, 2, 10)
		before := len(w.Partition("SALE#moutai"))
		_, err := w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 5})
		if e := w.Refused(sale.Conflicting, err); e.Detail != "the sale's maxStock leaves room for 4 more units" {
			t.Errorf("the detail is %q", e.Detail)
		}
		if after := len(w.Partition("SALE#moutai")); after != before || w.Number("SALE#moutai", "SALE", "seeded") != 6 {
			t.Errorf("%d items, before %d", after, before)
		}
		if s := w.add("s", 4); !s.Applied || s.Seeded != 10 {
			t.Errorf("up to the maxStock: got %+v", s)
		}
		if s := w.add("s", 4); s.Applied || s.Seeded != 10 {
			t.Errorf("the repeat, without room: got %+v", s)
		}
		_, err = w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "one-more", Stock: 1})
		w.Refused(sale.Conflicting, err)
	},
	"an addition that was cut off keeps its room for its repeat": func(t *testing.T, w *World) {
		w.limited(4, 4, 8)
		ctx, dying := w.cutAfter(2) // the announcement, one shard
		_, err := dying.Add(ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 4})
		w.Refused(sale.Busy, err)
		_, err = w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "other", Stock: 1})
		w.Refused(sale.Conflicting, err)
		if s := w.add("s", 4); !s.Applied || s.Seeded != 8 {
			t.Errorf("got %+v", s)
		}
	},
	"additions at once do not pass the maxStock together": func(t *testing.T, w *World) {
		w.limited(4, 4, 20)
		var wait sync.WaitGroup
		for i := range 6 {
			l := w.Environment()
			wait.Go(func() {
				_, err := l.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: fmt.Sprint("s", i), Stock: 5})
				if code := sale.CodeOf(err); code != "" && code != sale.Conflicting {
					t.Errorf("got %v", err)
				}
			})
		}
		wait.Wait()
		if seeded := w.Number("SALE#moutai", "SALE", "seeded"); seeded != 19 {
			t.Errorf("%d units, want 19: 3 additions", seeded)
		}
		w.Balanced(4)
	},
	"a withdrawal gives room back for as many units as it took": func(t *testing.T, w *World) {
		w.limited(6, 2, 6)
		w.bought("alice")
		w.withdraws(w.Ledger, "typo", 99, done(5, 1, 2, true))
		_, err := w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 6})
		w.Refused(sale.Conflicting, err)
		if s := w.add("s", 5); s.Seeded != 6 {
			t.Errorf("got %+v", s)
		}
		w.withdraws(w.Ledger, "part", 1, done(1, 5, 2, true))
		if s := w.add("one", 1); s.Seeded != 6 {
			t.Errorf("got %+v", s)
		}
	},
	"a creation with another maxStock is an error": func(t *testing.T, w *World) {
		c := w.limited(6, 2, 10)
		for _, other := range []int64{0, 9, 11} {
			c.MaxStock = other
			_, err := w.Ledger.Create(w.Ctx, c)
			w.Refused(sale.Conflicting, err)
		}
		c.MaxStock = 10
		if s, err := w.Ledger.Create(w.Ctx, c); err != nil || s.Applied {
			t.Errorf("got %+v (%v), want the same sale", s, err)
		}
	},
}
