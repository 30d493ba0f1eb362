package ledgertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/shared/ledger"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

// openPricedUnits is openUnits of a sale that asks for payment.
func (w *World) openPricedUnits(stock int64, shards, most int) sale.Creation {
	w.T.Helper()
	return w.openUnits(stock, shards, most, func(c *sale.Creation) { c.PayWithin, c.Price, c.Currency = payWithin, 199900, "CNY" })
}

// orderedUnits orders so many units, and confirms the order.
func (w *World) orderedUnits(user string, units int64) uint64 {
	w.T.Helper()
	c := w.got(user, units)
	return w.Confirmed([]ledger.ClaimRef{{SaleID: "moutai", User: user, ClaimID: c.ID}})[0]
}

// ofUnits is a payment of the price of so many units.
func ofUnits(orderID uint64, reference string, units int64) sale.Payment {
	p := PaymentOf(orderID, reference)
	p.Amount *= units
	return p
}

var unitsAfter = map[string]func(*testing.T, *World){
	"an order of several units is paid by the price of all of them, whatever state it is in": func(_ *testing.T, w *World) {
		w.openPricedUnits(9, 3, 3)
		id, one := w.orderedUnits("alice", 3), w.orderedUnits("bob", 1)
		w.refunded(PaymentOf(id, "pi_one"), "moutai", "alice", sale.RefundAmount)
		paid := ofUnits(id, "pi_3", 3)
		check(w.T, w.Settles(paid).Refund == nil, "the price of three units does not pay them")
		w.refunded(ofUnits(id, "pi_again", 3), "moutai", "alice", sale.RefundOtherPayment)
		w.refunded(ofUnits(id, "pi_two", 2), "moutai", "alice", sale.RefundAmount)
		w.refunded(ofUnits(one, "pi_b3", 3), "moutai", "bob", sale.RefundAmount)
		check(w.T, w.Settles(PaymentOf(one, "pi_b")).Refund == nil, "the price does not pay an order of one unit")
		for user, want := range map[string]int64{"alice": 3, "bob": 1} {
			events, err := w.Environment().OrderEvents(w.Ctx, w.claimOf(user).OrderID)
			w.Succeeds(nil, err)
			for _, e := range events {
				check(w.T, max(1, e.Units) == want && (want > 1) == (e.Units > 0) && e.Amount == 199900*want, "%s of %d units: %+v", e.Type, want, e)
			}
			hasLen(w.T, events, 2)
		}
	},
	"a payment with extras is of the price of all units without them": func(_ *testing.T, w *World) {
		w.openUnits(9, 3, 3, func(c *sale.Creation) { c.PayWithin, c.Price, c.Currency, c.Extras = payWithin, 199900, "CNY", true })
		w.hasNumber(sale.ReadsUnits, "SALE#moutai", "SALE", "minReader")
		p := PaymentOf(w.orderedUnits("alice", 2), "pi_1")
		p.Amount, p.Goods, p.GoodsCurrency = 500000, 199900, "CNY"
		w.refunded(p, "moutai", "alice", sale.RefundAmount)
		p.Reference, p.Goods = "pi_2", 2*199900
		check(w.T, w.Settles(p).Refund == nil, "it does not pay the order")
	},
	"a payment reads the claim first only in a sale of several units, and waits for one that is being erased": func(_ *testing.T, w *World) {
		for most, want := range map[int]int{1: 0, 2: 1} {
			w.becomes(table{})
			w.openPricedUnits(9, 1, most)
			c := w.Accepted(w.takes(w.Ledger, "alice", "", 1)).Claim
			id := w.Confirmed([]ledger.ClaimRef{{SaleID: "moutai", User: "alice", ClaimID: c.ID}})[0]
			reads := 0
			counting := w.Hooked(func(op string, in any, call func() (any, error)) (any, error) {
				if get, ok := in.(*dynamodb.GetItemInput); ok && op == "GetItem" && strings.HasPrefix(value(get.Key["pk"]), "CLAIM#") {
					reads++
				}
				out, err := call()
				if got, ok := out.(*dynamodb.GetItemOutput); ok && err == nil && reads == 1 && most == 2 && got.Item["claimId"] != nil {
					got.Item = nil
				}
				return out, err
			})
			_, err := counting.Pay(w.Ctx, PaymentOf(id, "pi_1"))
			if most == 2 {
				w.Refused(sale.Busy, err)
			}
			check(w.T, reads == want, "maxPerOrder %d: %d reads of claims, want %d", most, reads, want)
			check(w.T, w.Settles(PaymentOf(id, "pi_1")).Refund == nil, "it does not pay the order")
		}
	},
	"all units of an order that expires or is cancelled are in stock again, and sold again": func(t *testing.T, w *World) {
		w.openPricedUnits(4, 2, 4) // 2 and 2
		w.orderedUnits("alice", 4)
		seller := w.claimOf("alice").Shard
		w.Pass(payWithin + grace)
		w.releases(1, 4)
		w.hasCounts(seller, 4, 4, 4)
		w.hasCounts(1-seller, 0, 0, 0)
		w.orderedUnits("bob", 3)
		w.hasCounts(seller, 1, 4, 4)
		w.Cancels("bob")
		w.releases(0, 3)
		w.hasCounts(seller, 4, 7, 7)
		w.Settled(2)
		taken, err := w.Ledger.Withdraw(w.Ctx, sale.Withdrawal{SaleID: "moutai", SeedID: "w", Stock: 3}) // more than the shard was seeded with
		check(t, err == nil && taken.Units == 3, "%d units are withdrawn (%v)", taken.Units, err)
		w.Settled(2)
		r, _ := w.audit()
		check(t, r.Balanced && r.Seeded == 1 && r.Stock == 1 && r.Released == 7 && r.Units == 7 && r.Claims == 2 && r.UnpaidUnits == 0, "got %+v", r)
	},
	"all units of an order that an operator cancels come back, or are kept": func(t *testing.T, w *World) {
		w.openPricedUnits(9, 1, 3)
		ids := map[string]uint64{}
		for _, user := range people(4) {
			ids[user] = w.orderedUnits(user, 2)
		}
		released := int64(0)
		for i, user := range people(4) {
			saw, unit := sale.Confirmed, sale.UnitKept
			if i%2 == 0 {
				w.Settles(ofUnits(ids[user], user, 2))
				saw = sale.Paid
			}
			if i < 2 {
				unit, released = sale.UnitBack, released+2
			}
			at := w.Now()
			w.operatorCancels(user, ids[user], saw, unit)
			same(t, w.claimOf(user).MinReader, sale.ReadsUnits, "the reader of %s", user)
			if saw == sale.Paid {
				w.goesBackBecause(sale.RefundCancelled, user, ofUnits(ids[user], user, 2), at)
			}
		}
		w.hasCounts(0, 1+released, released, released)
		w.hasNumber(4, "SALE#moutai", "SALE", "cancelled")
		w.Settled(1)
		r, _ := w.audit()
		check(t, r.Balanced && r.Units == 8 && r.Released == released && r.ReleasedOrders() == released/2 && r.Unpaid == 0, "got %+v", r)
	},
	"a recall releases all units of each order, and is complete when the shards count them": func(t *testing.T, w *World) {
		w.openPricedUnits(9, 2, 3)
		paid := ofUnits(w.orderedUnits("alice", 2), "pi_1", 2)
		w.orderedUnits("bob", 3)
		w.orderedUnits("carol", 2)
		w.Settles(paid)
		w.recalls("", true)
		w.hasNumber(sale.ReadsUnits, "SALE#moutai", "SALE", "minReader")
		w.Pass(pauseSettles)
		w.Cancels("carol") // just before the pass, which must find that her shard counts both units
		w.finishes(w.Environment(), 1, 5, 1, true)
		w.goesBack("alice", paid, w.Now())
		w.Settled(2)
	},
	"an overdue order stays while an order of the most units could be filled, and no longer": func(_ *testing.T, w *World) {
		w.openUnits(4, 1, 2, func(c *sale.Creation) {
			c.PayWithin, c.LateFor, c.ClosesAt = payWithin, lateFor, w.Now().Add(10*24*time.Hour)
		})
		w.orderedUnits("alice", 2)
		w.Pass(payWithin + grace)
		w.releases(0, 0) // two units are left
		w.orderedUnits("bob", 1)
		w.releases(1, 2)
	},
	"more time is given to orders of several units, and their sale needs the same reader": func(_ *testing.T, w *World) {
		w.openPricedUnits(4, 1, 2)
		w.orderedUnits("alice", 2)
		w.extends(w.Now().Add(2 * time.Hour))
		w.hasNumber(sale.ReadsUnits, "SALE#moutai", "SALE", "minReader")
		w.Pass(payWithin + grace)
		w.releases(0, 0)
	},
	"the receipt has orders and units side by side, and finds units that are of nobody": func(t *testing.T, w *World) {
		w.openPricedUnits(8, 4, 3)
		w.orderedUnits("alice", 3)
		w.orderedUnits("bob", 2)
		w.Settles(ofUnits(w.claimOf("bob").OrderID, "pi_1", 2))
		r, _ := w.audit()
		check(t, r.Balanced && r.Claims == 2 && r.Units == 5 && r.Unpaid == 1 && r.UnpaidUnits == 3 && r.Stock == 3 && r.Money["CNY"].Taken == 2*199900, "got %+v", r)
		giver := -1
		for k := range 4 {
			if numberOf(w.Item(fmt.Sprint("STOCK#moutai#", k), "STOCK"), "moved") < 0 {
				giver = k
			}
		}
		shard := fmt.Sprint("STOCK#moutai#", giver)
		w.tamper(shard, "STOCK", "SET moved = moved + :one, stock = stock + :one", one())
		w.finds("the shards got 1 more units from others than these gave (P2)")
		w.tamper(shard, "STOCK", "SET moved = moved - :one, stock = stock - :one", one())
		w.finds("")
		w.tamper("CLAIM#moutai#0", "bob", "REMOVE units", nil)
		w.finds("of claims (P1, P2)")
	},
	"an archived sale says how many units its claims had, and an erased order keeps its own": func(t *testing.T, w *World) {
		c := w.openUnits(9, 2, 3)
		w.orderedUnits("alice", 3)
		w.orderedUnits("bob", 1)
		w.ends(c)
		w.erases(w.Environment(), "alice")
		same(t, w.erasedClaim().Units, 3)
		w.Settled(2)
		w.moment(c.ClosesAt.Add(maintenance.ArchiveAfter))
		file := w.archived()
		check(t, strings.Contains(file, `"claims":2,"units":4,`), "the archive ends with %s", file[strings.LastIndex(file, `{"archive"`):])
		for range 2 {
			w.deleted(file)
		}
		w.hasNumber(2, "SALE#moutai", "SALE", "archivedClaims")
		w.hasNumber(4, "SALE#moutai", "SALE", "archivedUnits")
		w.hasNumber(sale.ReadsUnits, "SALE#moutai", "SALE", "minReader")
	},
	"a restored table with half of a split is completed, and no shard has less than nothing": func(_ *testing.T, w *World) {
		w.openPricedUnits(7, 3, 4) // 3, 2 and 2
		w.orderedUnits("alice", 2)
		p := &past{World: w, kept: w.table(), lost: maintenance.Lost{RestoredTo: w.Now()}}
		w.Pass(time.Minute)
		w.orderedUnits("bob", 4)
		w.Settles(ofUnits(w.claimOf("bob").OrderID, "pi_1", 4))
		w.orderedUnits("carol", 1)
		for user, unit := range map[string]sale.Unit{"alice": sale.UnitBack, "carol": sale.UnitKept} {
			w.Succeeds(w.Environment().CancelOrder(w.Ctx, cancellation(user, w.claimOf(user).OrderID, sale.Confirmed, unit)))
		}
		p.full = w.table()
		p.remember("alice", "bob", "carol")
		p.inPart(func(about string) {
			noDiff(w.T, promised(p.full), promised(p.table()), "%s", about)
			if p.Settled(3); p.Stock(3)[0]+p.Stock(3)[1]+p.Stock(3)[2] != 2 {
				w.T.Errorf("%s: the stock is %v", about, p.Stock(3))
			}
			if again := p.replays(p.Environment(), false); again.Missing() != 0 || len(again.Problems)+len(again.Oversold) != 0 {
				w.T.Errorf("%s: still missing: %+v", about, again)
			}
		})
	},
	"a dry run gives back all units of an order whose release is known from its event alone": func(t *testing.T, w *World) {
		w.openPricedUnits(4, 1, 4)
		w.orderedUnits("alice", 4)
		kept := w.table()
		w.Cancels("alice")
		w.releases(0, 4)
		w.orderedUnits("bob", 4)
		p := &past{World: w, lost: maintenance.Lost{RestoredTo: w.Now()}}
		p.remember("alice", "bob")
		p.lost.Claims[0].AcceptedAt, p.lost.Claims[0].Shard, p.lost.Claims[0].Units = time.Time{}, 0, 0 // as logs tell
		w.becomes(kept)
		done := p.replays(w.Environment(), false)
		check(t, len(done.Oversold)+len(done.Problems) == 0 && done.Shards == 1, "got %+v", done)
	},
	"a restored sale is oversold only if it lacks units as a whole": func(t *testing.T, w *World) {
		w.openPricedUnits(4, 2, 4)
		w.got("alice", 4)
		p := &past{World: w, lost: maintenance.Lost{RestoredTo: w.Now()}}
		same(t, len(p.replays(w.Environment(), true).Oversold), 0)
		w.Settled(2)
		before := w.textOf("STOCK#moutai#0", "STOCK#moutai#1")
		extra := w.claimOf("alice")
		extra.User, extra.ID, extra.Units = "bob", "lost", 2
		p.lost.Claims = []sale.Claim{extra}
		done := p.replays(w.Environment(), true)
		check(t, len(done.Oversold) == 2 && w.textOf("STOCK#moutai#0", "STOCK#moutai#1") == before, "got %+v, and %s", done, w.textOf("STOCK#moutai#0"))
	},
}
