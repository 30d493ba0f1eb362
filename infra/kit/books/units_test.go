package books

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// buyUnits orders so many units.
func (w *world) buyUnits(user string, units int64) ledger.ClaimRef {
	w.T.Helper()
	c := w.Accepted(w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: user, Key: "key", Units: units})).Claim
	return ledger.ClaimRef{SaleID: c.SaleID, User: c.User, ClaimID: c.ID}
}

// severalSale is a sale of 9 units on 3 shards, up to 4 an order: user-0 has units of two shards, and user-3 is pending.
func severalSale(t *testing.T) *world {
	w := newWorld(t)
	c := w.Sale(9, 3)
	c.MaxPerOrder, c.LimitGroup = 4, "shoe"
	w.Create(c)
	w.Confirmed([]ledger.ClaimRef{w.buyUnits("user-0", 4), w.buyUnits("user-1", 1), w.buyUnits("user-2", 2)})
	w.buyUnits("user-3", 1)
	w.Pass(2 * time.Minute)
	return w
}

func TestUnitsAndOrdersAreCountedSideBySide(t *testing.T) {
	w := severalSale(t)
	if r := w.balanced(); r.Claims != 4 || r.Units != 8 || r.Stock != 1 || r.Confirmed != 3 || r.Pending != 1 {
		t.Errorf("got %+v", r)
	}
	seller, giver := -1, -1
	for k := range 3 {
		switch s, _ := readShard(w.items()[shardKey(k)]); s.Moved {
		case 1:
			seller = k
		case -1:
			giver = k
		}
	}
	if seller < 0 || giver < 0 {
		t.Fatalf("shard %d has got a unit, and shard %d gave one", seller, giver)
	}
	breakages{
		{"an order of more units than are allowed", func(all items) { all.set(all.claim("user-2"), "units", number("5")) }, "P40",
			`the claim of "user-2" has 5 units, but an order of the sale has at most 4`},
		{"a split of which one shard's part was lost", func(all items) { all.add(shardKey(seller), "moved", -1).add(shardKey(seller), "stock", -1) }, "P2", "-1 more units were moved to shards than from others"},
		{"units that another shard gave twice", func(all items) { all.add(shardKey(giver), "moved", -1) }, "P2", fmt.Sprintf("shard %d: stock is ", giver)},
		{"an order counted as one unit", func(all items) { all.set(all.claim("user-2"), "units", nil) }, "P2", "1 too few"},
		{"an order that has more units than were taken", func(all items) {
			all.add(all.claim("user-0"), "units", -1).set(all.claim("user-1"), "units", number("4"))
		}, "P1", " oversold"},
		{"for a release that takes each order for one unit", func(all items) { all.set(listingKey, "minReader", number("3")) }, "P19", "the list of sales says minReader 3, the sale 8"},
	}.areFound(w)
}

func TestNoUnitIsMovedInASaleOfOneUnitAnOrder(t *testing.T) {
	w := newWorld(t)
	w.Open(4, 2)
	all := w.items()
	all.set(shardKey(0), "moved", number("-1")).set(shardKey(1), "moved", number("1"))
	all.add(shardKey(0), "stock", -1).add(shardKey(1), "stock", 1)
	has(t, all.recount(t, w.Now()), "P40", "units were moved between shards, but an order of the sale has one")
}

func TestTheEventsOfSeveralUnitsSayHowMany(t *testing.T) {
	w := severalSale(t)
	for user, want := range map[string]string{"user-0": "2 4", "user-1": "1 <nil>"} {
		all, problem := EventsOf(w.items()[w.items().claim(user)], w.Now())
		if len(all) != 1 || problem != "" || fmt.Sprint(all[0]["schemaVersion"], " ", all[0]["units"]) != want {
			t.Errorf("%s: got %v (%s), want schemaVersion and units %s", user, all, problem, want)
		}
	}
}

func TestOrdersOfSeveralUnitsThatArePaidReleasedAndCancelledBalance(t *testing.T) {
	w := newWorld(t)
	c := w.Sale(12, 3)
	c.MaxPerOrder, c.PayWithin, c.Price, c.Currency = 4, 30*time.Minute, 199900, "CNY"
	w.Create(c)
	w.Confirmed([]ledger.ClaimRef{w.buyUnits("user-0", 4), w.buyUnits("user-1", 3), w.buyUnits("user-2", 2), w.buyUnits("user-3", 1)})
	four := w.payment("user-0", "pi_1")
	four.Amount *= 4
	w.Settles(four)
	w.pays("user-2", "pi_2") // the price of one unit
	claim, err := w.Ledger.Claim(w.Ctx, "moutai", "user-1")
	w.Succeeds(nil, err)
	w.Succeeds(w.Ledger.CancelOrder(w.Ctx, sale.Cancellation{
		SaleID: "moutai", OrderID: claim.OrderID, ChangeID: "c", Expected: sale.Confirmed, Unit: sale.UnitBack, Author: sale.Author{Actor: "ana"},
	}))
	w.Pass(32 * time.Minute)
	w.ReleasesBy(w.Ledger)
	w.Pass(time.Minute)
	r := w.balanced()
	if r.Claims != 4 || r.Units != 10 || r.Paid != 1 || r.Released != 6 || r.ReleasedClaims != 3 || r.RefundsDue != 1 || r.Stock != 12-10+6 {
		t.Errorf("got %+v", r)
	}
	var out strings.Builder
	r.Print(&out)
	for _, want := range []string{"released 3 units 6 refunds due 1", "stock left + units = seeded + units put back"} {
		if got := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	breakages{
		{"a payment of the price of one unit", func(all items) { all.set(all.claim("user-0"), "amount", number("199900")) }, "P24", `the claim of "user-0" was paid by 199900 CNY, but the price is 799600 CNY`},
		{"units put back in orders", func(all items) {
			k := all.where(func(k key) bool { s, _ := readShard(all[k]); return kindOf(k) == "shard" && s.Released > 1 })
			all.set(k, "released", number("1")).set(k, "putBack", number("1"))
		}, "P2", "counts 1 to 1 released units, but "},
		{"a claim for a release that does not know units", func(all items) { all.set(all.claim("user-0"), "minReader", number("6")) }, "P19", "and needs version 8"},
	}.areFound(w)
}

func TestAnArchivedSaleOfSeveralUnitsIsRecountedInUnits(t *testing.T) {
	w := newWorld(t)
	c := w.Sale(9, 3)
	c.MaxPerOrder = 4
	w.Create(c)
	w.Confirmed([]ledger.ClaimRef{w.buyUnits("user-0", 4), w.buyUnits("user-1", 3)})
	w.Pass(72 * time.Hour)
	w.drain()
	if r := archived(w).items().recount(t, w.Now()); !r.Balanced || r.ArchivedClaims != 2 || len(r.Archive) != 64 {
		t.Errorf("got %+v", r)
	}
	breakages{
		{"archived orders that were counted as units", func(all items) { all.set(saleKey, "archivedUnits", number("2")) }, "P2", "7 units were sold, but the archive has claims of 2: 5 too few"},
		{"more units than its orders may have", func(all items) { all.set(saleKey, "archivedClaims", number("1")) }, "P40", "the archive has 1 claims of 7 units, but each has 1 to 4"},
	}.areFound(w)
}
