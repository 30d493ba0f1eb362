package ledgertest

import (
	"testing"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// described is a creation with everything that buyers see.
func (w *World) described() sale.Creation {
	c := w.Sale(10, 2)
	c.Presentation = sale.Presentation{Image: "https://images.example/a.jpg", About: "53 % vol.\nNumbered.", Link: "https://shop.example/moutai"}
	return c
}

// shows checks what an environment that knows the sale shows once the caches' time is over.
func (w *World) shows(environment *ledger.Ledger, name string, want sale.Presentation) {
	w.T.Helper()
	w.Pass(2 * time.Second)
	s, err := environment.Sale(w.Ctx, "moutai")
	check(w.T, err == nil && s.Name == name && s.Presentation == want, "shown: %q, %+v (%v); want %q, %+v", s.Name, s.Presentation, err, name, want)
}

var describing = map[string]func(*testing.T, *World){
	"a description is shown within the caches' time, and the creation stays what was asked": func(t *testing.T, w *World) {
		c := w.described()
		w.Create(c)
		other := w.Environment()
		w.shows(other, "Feitian Moutai", c.Presentation)
		d := sale.Description{SaleID: "moutai", Name: new("Moutai 2026"), About: new("54 % vol."), Link: new("")}
		want := sale.Presentation{Image: c.Image, About: "54 % vol."}
		for i, applied := range []bool{true, false} {
			got, err := w.Ledger.Describe(w.Ctx, d)
			if err != nil || got.Applied != applied || got.Sale.Name != "Moutai 2026" || got.Sale.Presentation != want {
				t.Errorf("description %d: %+v (%v)", i, got, err)
			}
		}
		w.shows(other, "Moutai 2026", want)
		version, described := w.Number("SALE#moutai", "SALE", "version"), w.Number("SALE#moutai", "SALE", "described")
		check(t, version == 2 && described == 1, "version %d, described %d times", version, described)
		again, err := w.Ledger.Create(w.Ctx, c)
		check(t, err == nil && !again.Applied, "the creation again: %+v (%v)", again, err)
		w.shows(w.Ledger, "Moutai 2026", want)
	},
	"everything but the name can be taken away, and given again": func(t *testing.T, w *World) {
		c := w.described()
		w.Create(c)
		w.Succeeds(w.Ledger.Describe(w.Ctx, sale.Description{SaleID: "moutai", Name: new(""), Image: new(""), About: new(""), Link: new("")}))
		w.shows(w.Ledger, "moutai", sale.Presentation{})
		for _, name := range []string{"image", "about", "link"} {
			check(t, w.Item("SALE#moutai", "SALE")[name] == nil, "the sale has %s", name)
		}
		w.Succeeds(w.Ledger.Describe(w.Ctx, sale.Description{SaleID: "moutai", Image: &c.Image}))
		w.shows(w.Ledger, "moutai", sale.Presentation{Image: c.Image})
	},
}
