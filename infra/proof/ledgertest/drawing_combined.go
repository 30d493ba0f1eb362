package ledgertest

import (
	"maps"
	"testing"
	"time"

	"flashsale/shared/draw"
	"flashsale/shared/sale"
)

// combining is what holds where a draw meets payments, groups, recalls, pauses and additions, and
// what it does in a table that was restored.
var combining = func() map[string]func(*testing.T, *World) {
	all := map[string]func(*testing.T, *World){}
	// Of three units two are ordered in the first call; one of those is never paid for.
	for name, tt := range map[string]struct {
		early    bool // ordered when the call begins, not just before it ends
		inSecond bool // released in the second call, not before it
		// calledSecond are called in the second call, for as many units; the third is for two.
		calledSecond int64
	}{
		"in its own call":      {early: true, calledSecond: 2},
		"after the end of it":  {calledSecond: 2},
		"during the next call": {inSecond: true, calledSecond: 1},
	} {
		all["a unit that is not paid for and comes back "+name+" is for the call after that"] = func(t *testing.T, w *World) {
			_, users, ranks := w.Rolled(func(c *sale.Creation) { c.PayWithin = payWithin }, 3, 1, 9)
			first := w.calls(ranks)
			if !tt.early {
				w.moment(first.Until.Add(-time.Minute))
			}
			ids := w.Ordered(users[0], users[1])
			w.Settles(PaymentOf(ids[1], "pi_1"))
			expire := func() {
				w.Pass(payWithin + grace)
				w.releases(1, 1)
				w.Refused(sale.NotYourTurn, w.buys(users[len(users)-1]))
			}
			if !tt.inSecond {
				expire()
			}
			// The release may have come after the moment of the next call.
			if at := w.state().NextCallAt(gap); at.After(w.Now()) {
				w.moment(at)
			}
			second := w.calls(ranks)
			if tt.inSecond {
				expire()
			}
			third := w.next(ranks)
			if second.Stock != tt.calledSecond || second.Lo != ranks[2] || third.Stock != 2 || third.Lo != ranks[2+tt.calledSecond] {
				t.Errorf("the second call is %+v, the third %+v", second, third)
			}
			w.Refused(sale.AlreadyOrdered, w.buysWith(users[0], "another"))
			w.refunded(PaymentOf(ids[0], "pi_2"), "moutai", users[0], sale.RefundReleased)
			w.Settled(1)
		}
	}
	maps.Copy(all, combiningMore)
	return all
}()

var combiningMore = map[string]func(*testing.T, *World){
	"whoever is called and has ordered in another sale of the group does not order again, and the unit is for the next call": func(t *testing.T, w *World) {
		_, users, ranks := w.Rolled(func(c *sale.Creation) { c.LimitGroup = "shoe" }, 2, 1, 8)
		w.openIn("shoe", "size-39", 1)
		w.calls(ranks)
		w.Accepted(w.buyIn("size-39", users[0]))
		w.Accepted(w.buyIn("moutai", users[1]))
		for saleID, other := range map[string]string{"moutai": "size-39", "size-39": "moutai"} {
			user := map[string]string{"moutai": users[0], "size-39": users[1]}[saleID]
			same(t, w.Refused(sale.AlreadyOrdered, errOf(w.buyIn(saleID, user))).OtherSale, other)
		}
		second := w.next(ranks)
		check(t, second.Stock == 1 && second.Lo == ranks[1] && second.Hi == ranks[2], "the second call is %+v", second)
	},
	"units that are added are for the next call, and for anybody in the last one": func(t *testing.T, w *World) {
		_, users, ranks := w.rolled(1, 1, 4)
		w.calls(ranks)
		w.Add("during a call", 1)
		w.Refused(sale.NotYourTurn, w.buys(users[1]))
		w.allBuy(users[0])
		w.moment(w.state().NextCallAt(gap).Add(-time.Second))
		w.Add("between calls", 1)
		second := w.next(ranks)
		check(t, second.Stock == 2 && second.Hi == ranks[2], "the second call is %+v", second)
		w.allBuy(users[1:3]...)
		w.moment(w.state().NextCallAt(gap).Add(time.Hour))
		w.Add("when none is left", 1)
		third := w.calls(ranks)
		check(t, third.Stock == 1 && third.Hi == ranks[3], "the third call is %+v", third)
		open := w.next(ranks)
		check(t, open.Open && open.Stock == 1, "the last call is %+v", open)
		w.Add("in the last call", 1)
		w.allBuy("dora", users[3])
		w.Refused(sale.SoldOut, w.buys("fred"))
	},
	// A restore may bring back some and not all of what one transaction wrote.
	"after a restore a call without its record sells nothing and calls nobody, and the sale can be recalled": func(t *testing.T, w *World) {
		c, users, _ := w.rolled(2, 1, 8)
		from := c.OpensAt.Add(gap / 4)
		in := moved(w.Item("SALE#moutai", "SALE"), "SALE#moutai", "SALE")
		maps.Copy(in, attributes(map[string]any{"call": 1, "opensAt": from, "closesAt": from.Add(keepFor)}))
		w.place(in)
		w.moment(from)
		w.Refused(sale.Busy, w.buys(users[0]))
		w.Refused(sale.Busy, errOf(w.Environment().DrawState(w.Ctx, "moutai", gap)))
		w.recalls("", true)
	},
	"after a restore a call of which only the record is there is begun anew, unless it has called people": func(t *testing.T, w *World) {
		c, users, ranks := w.rolled(2, 1, 8)
		from := c.OpensAt.Add(-time.Hour)
		record := map[string]any{
			"pk": "DRAW#moutai", "sk": "CALL#0000000001", "from": from, "until": from.Add(keepFor), "at": from, "lo": draw.Rank{}.String(), "hi": ranks[2].String(), "stock": 3,
		}
		w.place(attributes(record))
		w.Refused(sale.Internal, errOf(w.Environment().BeginCall(w.Ctx, w.state(), ranks, gap)))
		w.Refused(sale.NotOpen, w.buys(users[0]))
		delete(record, "hi")
		delete(record, "stock")
		w.place(attributes(record))
		call := w.calls(ranks)
		check(t, call.Number == 1 && call.Hi == ranks[1] && !call.From.Before(c.OpensAt), "got %+v", call)
		w.allBuy(users[1])
	},
	"after a restore a shard in the window before sells nothing until the next edit": func(t *testing.T, w *World) {
		c, users, ranks := w.rolled(2, 1, 8)
		call := w.calls(ranks)
		w.tamper("STOCK#moutai#0", "STOCK", "SET opensAt = :from, closesAt = :until, changedAt = :at",
			attributes(map[string]any{":from": c.OpensAt, ":until": c.ClosesAt, ":at": call.At.Add(-time.Hour)}))
		w.Refused(sale.Busy, w.buys(users[0]))
		w.edit(sale.Edit{SaleID: "moutai", Paused: new(true)})
		w.edit(sale.Edit{SaleID: "moutai", Paused: new(false)})
		w.allBuy(users[0])
	},
}
