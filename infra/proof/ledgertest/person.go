package ledgertest

import (
	"errors"
	"testing"

	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

// holds is what the table holds of a user, by sale; so many sales are looked at.
func (w *World) holds(user string, sales int) map[string]maintenance.Held {
	w.T.Helper()
	held := map[string]maintenance.Held{}
	read, err := maintenance.Of(w.Environment()).Person(w.Ctx, user, func(h maintenance.Held) error {
		held[h.Sale.ID] = h
		return nil
	})
	if err != nil || read != sales {
		w.T.Fatalf("%d sales (%v), want %d", read, err, sales)
	}
	return held
}

var findingAPerson = map[string]func(*testing.T, *World){
	"what is held of a user is found in every sale, and nothing of anybody else": func(t *testing.T, w *World) {
		c := w.OpenDraw(9, 2)
		w.moment(c.EnterFrom)
		entry, err := w.enters("alice")
		w.Succeeds(nil, err)
		c = w.Sale(9, 1)
		for id, group := range map[string]string{"waiting": "", "size-39": "shoe", "size-42": "shoe"} {
			c.SaleID, c.LimitGroup = id, group
			w.Create(c)
		}
		w.Accepted(w.buyIn("waiting", "alice"))
		alice, bob := w.orderedIn("size-39", "alice"), w.orderedIn("size-39", "bob")
		for reference, id := range map[string]uint64{"pi_alice": alice, "pi_bob": bob} {
			for _, again := range []string{"", "-again"} {
				p := PaymentOf(id, reference+again)
				p.SaleID = "size-39"
				w.Settles(p)
			}
		}
		held := w.holds("alice", 4)
		h := held["moutai"]
		check(t, h.Entry != nil && *h.Entry == entry && h.Claim == nil, "got %+v, want the entry", h)
		h = held["waiting"]
		check(t, h.Entry == nil && h.Claim != nil && h.Claim.State() == sale.Pending && h.Order == nil && !h.Guarded, "got %+v, want a claim", h)
		if h := held["size-39"]; len(held) != 3 || h.Claim == nil || h.Claim.Payment != "stripe#pi_alice" || h.Order == nil || h.Order.ID != alice ||
			h.Order.User != "alice" || !h.Guarded || h.Entry != nil || len(h.Refunds) != 1 || h.Refunds[0].Payment != "stripe#pi_alice-again" {
			t.Errorf("got %+v, want the order with its refund", held)
		}
		hasLen(t, w.holds("carol", 4), 0)
	},
	"a sale that cannot be read hides nothing of what others hold of a user, and is named": func(t *testing.T, w *World) {
		w.Open(9, 2)
		w.openIn("shoe", "newer", 1)
		w.Ordered("alice")
		w.tamper("SALE#newer", "SALE", "SET minReader = :x", attributes(map[string]any{":x": 1000}))
		var held []string
		read, err := maintenance.Of(w.Environment()).Person(w.Ctx, "alice", func(h maintenance.Held) error {
			held = append(held, h.Sale.ID)
			return nil
		})
		w.Refused(sale.NewerVersion, err)
		check(t, read == 2 && len(held) == 1 && held[0] == "moutai", "%d sales read, found in %v", read, held)
		full := errors.New("the disk is full")
		_, err = maintenance.Of(w.Environment()).Person(w.Ctx, "alice", func(maintenance.Held) error { return full })
		check(t, errors.Is(err, full), "got %v, want report's error", err)
	},
}
