package ledgertest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

var creating = map[string]func(*testing.T, *World){
	"creating spreads the stock evenly, the remainder to the first shards": func(t *testing.T, w *World) {
		s := w.Create(w.Sale(103, 10))
		if want := (ledger.Seeding{SaleID: "moutai", Seeded: 103, Shards: 10, Applied: true}); s != want {
			t.Errorf("got %+v, want %+v", s, want)
		}
		left := w.Stock(10)
		if fmt.Sprint(left) != "[11 11 11 10 10 10 10 10 10 10]" {
			t.Errorf("got shards %v", left)
		}
		w.Balanced(10)
	},
	"creating again changes nothing and says so": func(t *testing.T, w *World) {
		c := w.Open(10, 2)
		w.Accepted(w.Buy("alice"))
		s, err := w.Ledger.Create(w.Ctx, c)
		if want := (ledger.Seeding{SaleID: "moutai", Seeded: 10, Shards: 2}); err != nil || s != want {
			t.Errorf("got %+v (%v), want %+v", s, err, want)
		}
		w.Balanced(2)
	},
	"creating with other contents is an error and changes nothing": func(t *testing.T, w *World) {
		c := w.Open(10, 2)
		for _, change := range []func(*sale.Creation){
			func(c *sale.Creation) { c.Stock = 11 },
			func(c *sale.Creation) { c.Shards = 3 },
			func(c *sale.Creation) { c.Name = "another" },
			func(c *sale.Creation) { c.OpensAt = c.OpensAt.Add(time.Second) },
			func(c *sale.Creation) { c.ClosesAt = c.ClosesAt.Add(time.Second) },
		} {
			other := c
			change(&other)
			_, err := w.Ledger.Create(w.Ctx, other)
			w.Refused(sale.Conflicting, err)
		}
		if w.Number("SALE#moutai", "SALE", "seeded") != 10 {
			t.Error("the sale was changed")
		}
	},
	"a creation that was cut off is a draft nobody sees, and is resumed": func(t *testing.T, w *World) {
		c := w.Sale(250, 150)
		created := func(want bool) {
			if got, err := w.Environment().Created(w.Ctx, "moutai"); got != want || err != nil {
				t.Errorf("created: %t (%v), want %t", got, err, want)
			}
		}
		created(false)
		for _, writes := range []int{1, 2, 40, 100} {
			ctx, dying := w.cutAfter(writes)
			_, err := dying.Create(ctx, c)
			w.Refused(sale.Busy, err)
			created(true)
			_, err = w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice"})
			w.Refused(sale.SaleNotFound, err)
			_, err = w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "early", Stock: 1})
			w.Refused(sale.SaleNotFound, err)
			_, err = w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "moutai", At: w.Now(), Paused: ptr(true)})
			w.Refused(sale.SaleNotFound, err)
		}
		if s := w.Create(c); !s.Applied || s.Seeded != 250 || s.Shards != 150 {
			t.Errorf("got %+v", s)
		}
		w.Balanced(150)
		w.Pass(2 * time.Second)
		w.Accepted(w.Buy("alice"))
	},
	"a creation that comes too late to a shard that has sold does not reset its stock": func(t *testing.T, w *World) {
		c := w.Sale(10, 1)
		late := w.overtaken("PutItem", func() {
			w.Create(c)
			w.Accepted(w.Buy("alice"))
		})
		if s, err := late.Create(w.Ctx, c); err != nil || s.Applied {
			t.Errorf("got %+v (%v), want nothing applied", s, err)
		}
		if left := w.Stock(1); left[0] != 9 {
			t.Errorf("%d units left, want 9", left[0])
		}
		w.Balanced(1)
	},
	"two creations at once make one sale": func(t *testing.T, w *World) {
		c := w.Sale(100, 20)
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				if _, err := w.Environment().Create(w.Ctx, c); err != nil {
					t.Errorf("create: %v", err)
				}
			})
		}
		wait.Wait()
		w.Balanced(20)
		if w.Number("SALE#moutai", "SALE", "seeded") != 100 {
			t.Error("seeded is not 100")
		}
	},
	"a creation that is overtaken by its own repeat neither resets a shard nor opens the sale again": func(t *testing.T, w *World) {
		c := w.Sale(5, 1)
		slow := w.overtaken("PutItem", func() {
			w.Create(c)
			w.Accepted(w.Buy("alice"))
		})
		s, err := slow.Create(w.Ctx, c)
		if err != nil || s.Applied {
			t.Errorf("got %+v (%v), want it not applied", s, err)
		}
		w.Balanced(1)
	},
	"a sale that is stored in part is not created over, and is left as it is": func(t *testing.T, w *World) {
		c := w.Open(4, 2)
		whole := w.table()
		parts := [][2]string{{"SALE#moutai", "CREATE"}, {"SALE#moutai", "SALE"}, {"SALES", "moutai"}}
		for gone := range 1<<len(parts) - 1 {
			w.becomes(whole)
			for i, part := range parts {
				if gone&(1<<i) != 0 {
					w.remove(w.Item(part[0], part[1]))
				}
			}
			before := w.everything()
			_, err := w.Environment().Create(w.Ctx, c)
			if gone == 0 && err != nil {
				t.Errorf("the whole sale: %v", err)
			}
			if gone != 0 {
				w.Refused(sale.Internal, err)
				w.isCancelled(err) // the transaction tells it, not a later reading of what is missing
			}
			if w.everything() != before {
				t.Errorf("without the parts %03b: the table was changed", gone)
			}
		}
	},
	"a sale that asks for payment is created once, and says so in its items": func(t *testing.T, w *World) {
		c := w.OpenPriced(5, 2)
		for _, key := range [][2]string{{"SALE#moutai", "SALE"}, {"SALE#moutai", "CREATE"}} {
			it := w.Item(key[0], key[1])
			if currency, _ := it["currency"].(*types.AttributeValueMemberS); numberOf(it, "payWithin") != 1800 ||
				numberOf(it, "price") != 199900 || currency == nil || currency.Value != "CNY" {
				t.Errorf("%v: got %v", key, it)
			}
		}
		if n := w.Number("SALES", "moutai", "payWithin"); n != 1800 {
			t.Errorf("the listing says %d", n)
		}
		if r, p := w.Number("STOCK#moutai#1", "STOCK", "released"), w.Number("STOCK#moutai#1", "STOCK", "putBack"); r != 0 || p != 0 {
			t.Errorf("a new shard has %d released, %d put back", r, p)
		}
		if again, err := w.Ledger.Create(w.Ctx, c); err != nil || again.Applied {
			t.Errorf("the repeat: %+v (%v)", again, err)
		}
		for name, change := range map[string]func(*sale.Creation){
			"payWithin": func(c *sale.Creation) { c.PayWithin += time.Second },
			"price":     func(c *sale.Creation) { c.Price++ },
			"currency":  func(c *sale.Creation) { c.Currency = "EUR" },
			"no price":  func(c *sale.Creation) { c.Price, c.Currency = 0, "" },
			"no time":   func(c *sale.Creation) { c.PayWithin = 0 },
		} {
			other := c
			change(&other)
			_, err := w.Ledger.Create(w.Ctx, other)
			if sale.CodeOf(err) != sale.Conflicting {
				t.Errorf("another %s: got %v", name, err)
			}
		}
	},
	"a sale with labels is created once, and its repeat must have the same": func(t *testing.T, w *World) {
		c := w.Sale(5, 2)
		c.Labels = labels
		w.Create(c)
		if again, err := w.Ledger.Create(w.Ctx, c); err != nil || again.Applied {
			t.Errorf("the repeat: %+v (%v)", again, err)
		}
		for _, other := range []sale.Labels{"", "sku=A-38", "campaign=1111,sku=A-38"} {
			c.Labels = other
			if _, err := w.Ledger.Create(w.Ctx, c); sale.CodeOf(err) != sale.Conflicting {
				t.Errorf("the labels %q: got %v", other, err)
			}
		}
		if s, err := w.Environment().Sale(w.Ctx, "moutai"); err != nil || s.Labels != labels {
			t.Errorf("the sale has %q (%v)", s.Labels, err)
		}
	},
	"a sale that asks for no payment has none of its attributes, and releases nothing": func(t *testing.T, w *World) {
		w.Open(5, 1)
		ids := w.Ordered("alice", "bob")
		for _, key := range [][2]string{{"SALE#moutai", "SALE"}, {"SALE#moutai", "CREATE"}, {"SALES", "moutai"}, {"STOCK#moutai#0", "STOCK"}} {
			for _, name := range []string{"payWithin", "price", "currency", "minReader", "released", "putBack", "nextDue", "releasing"} {
				if it := w.Item(key[0], key[1]); it[name] != nil {
					t.Errorf("%v has %s", key, name)
				}
			}
		}
		w.Pass(30 * 24 * time.Hour)
		w.releases(0, 0)
		_, err := w.Ledger.Cancel(w.Ctx, "moutai", "alice")
		w.Refused(sale.NotCancellable, err)
		p := PaymentOf(ids[0], "pi_1")
		if done := w.Settles(p); done.Refund != nil || done.SaleID != "moutai" {
			t.Errorf("got %+v: an order of any sale can be paid", done)
		}
		w.states(map[string]sale.ClaimState{"alice": sale.Paid, "bob": sale.Confirmed})
		w.Balanced(1)
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
