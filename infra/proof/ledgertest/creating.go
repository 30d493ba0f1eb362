package ledgertest

import (
	"testing"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

var creating = map[string]func(*testing.T, *World){
	"creating spreads the stock evenly, the remainder to the first shards": func(t *testing.T, w *World) {
		same(t, w.Create(w.Sale(103, 10)), ledger.Seeding{SaleID: "moutai", Seeded: 103, Shards: 10, Applied: true})
		w.left(11, 11, 11, 10, 10, 10, 10, 10, 10, 10)
		w.Settled(10)
	},
	"a creation that was cut off is a draft nobody sees, and is resumed": func(t *testing.T, w *World) {
		c := w.Sale(250, 150)
		created := func(want bool) {
			gives(t, want)(w.Environment().Created(w.Ctx, "moutai"))
		}
		created(false)
		for _, writes := range []int{1, 2, 40, 100} {
			ctx, dying := w.cutAfter(writes)
			w.Refused(sale.Busy, errOf(dying.Create(ctx, c)))
			created(true)
			w.Refused(sale.SaleNotFound, w.buys("alice"))
		}
		s := w.Create(c)
		check(t, s.Applied && s.Seeded == 250 && s.Shards == 150, "got %+v", s)
		w.Settled(150)
		w.allBuy("alice")
	},
	"a creation like a sale is as the sale stands, and like no draft or what cannot be read": func(t *testing.T, w *World) {
		like := func() (sale.Creation, error) { return maintenance.Of(w.Environment()).Creation(w.Ctx, "moutai") }
		c := w.Sale(9, 2)
		c.MaxStock = 20
		w.drafts(c)
		w.Refused(sale.SaleNotFound, errOf(like()))
		w.Create(c)
		w.Add("more", 5)
		c.Stock = 14
		gives(t, c)(like())
		w.tamper("SALE#moutai", "SALE", "REMOVE seeded", nil)
		w.Refused(sale.Internal, errOf(like()))
	},
	"neither a draft nor a sale that is not there is changed": func(t *testing.T, w *World) {
		w.drafts(w.Sale(9, 2))
		before := w.everything()
		for _, saleID := range []string{"moutai", "unknown"} {
			for _, action := range actions {
				if action != sale.ActionResume { // its author has seen the sale
					w.Refused(sale.SaleNotFound, errOf(w.changeIn(saleID, w.Environment(), action, "early", sale.Author{})))
				}
			}
		}
		w.unchanged(before)
	},
	"creating again changes nothing and says so, and with other contents is an error": func(t *testing.T, w *World) {
		c := w.Drawn(10, 2)
		c.PayWithin, c.Price, c.Currency, c.Labels, c.MaxStock, c.LimitGroup = payWithin, 199900, "CNY", labels, 20, "shoe"
		c.Presentation = sale.Presentation{Image: "https://images.example/a.jpg", About: "53 % vol.", Link: "https://shop.example/moutai"}
		w.Create(c)
		before := w.everything()
		s, err := ledger.New(w.Engine.API, w.Engine.Table, ledger.Options{Now: w.Now}).Create(w.Ctx, c) // with another random key
		want := ledger.Seeding{SaleID: "moutai", Seeded: 10, Shards: 2}
		check(t, err == nil && s == want, "got %+v (%v), want %+v", s, err, want)
		for name, change := range map[string]func(*sale.Creation){
			"stock":        func(c *sale.Creation) { c.Stock = 11 },
			"shards":       func(c *sale.Creation) { c.Shards = 3 },
			"name":         func(c *sale.Creation) { c.Name = "another" },
			"opensAt":      func(c *sale.Creation) { c.OpensAt = c.OpensAt.Add(time.Second) },
			"closesAt":     func(c *sale.Creation) { c.ClosesAt = c.ClosesAt.Add(time.Second) },
			"enterFrom":    func(c *sale.Creation) { c.EnterFrom = c.EnterFrom.Add(time.Second) },
			"enterUntil":   func(c *sale.Creation) { c.EnterUntil = c.EnterUntil.Add(time.Second) },
			"keepFor":      func(c *sale.Creation) { c.KeepFor += time.Hour },
			"no draw":      func(c *sale.Creation) { c.DrawTerms = sale.DrawTerms{} },
			"payWithin":    func(c *sale.Creation) { c.PayWithin += time.Second },
			"no payWithin": func(c *sale.Creation) { c.PayWithin = 0 },
			"lateDays":     func(c *sale.Creation) { c.LateFor = lateFor },
			"price":        func(c *sale.Creation) { c.Price++ },
			"currency":     func(c *sale.Creation) { c.Currency = "EUR" },
			"extras":       func(c *sale.Creation) { c.Extras = true },
			"no price":     func(c *sale.Creation) { c.Price, c.Currency = 0, "" },
			"fewer labels": func(c *sale.Creation) { c.Labels = "sku=A-38" },
			"label order":  func(c *sale.Creation) { c.Labels = "campaign=1111,sku=A-38" },
			"maxStock":     func(c *sale.Creation) { c.MaxStock++ },
			"maxPerOrder":  func(c *sale.Creation) { c.MaxPerOrder = 2 },
			"no maxStock":  func(c *sale.Creation) { c.MaxStock = 0 },
			"group":        func(c *sale.Creation) { c.LimitGroup = "hat" },
			"no group":     func(c *sale.Creation) { c.LimitGroup = "" },
			"image":        func(c *sale.Creation) { c.Image += "x" },
			"no about":     func(c *sale.Creation) { c.About = "" },
			"link":         func(c *sale.Creation) { c.Link += "x" },
		} {
			other := c
			change(&other)
			hasCode(t, sale.Conflicting, errOf(w.Ledger.Create(w.Ctx, other)), "another %s", name)
		}
		w.unchanged(before)
	},
	"a creation that comes too late to a shard that has sold does not reset its stock": func(t *testing.T, w *World) {
		c := w.Sale(10, 1)
		late := w.overtaken("PutItem", func() {
			w.Create(c)
			w.Accepted(w.Buy("alice"))
		})
		s, err := late.Create(w.Ctx, c)
		check(t, err == nil && !s.Applied, "got %+v (%v), want nothing applied", s, err)
		w.left(9)
		w.Settled(1)
	},
}
