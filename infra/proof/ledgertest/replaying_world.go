package ledgertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

// past is a sale of which the table was restored to an earlier instant.
type past struct {
	*World
	kept, full table // before the lost time and after it
	lost       maintenance.Lost
}

// scanner is what a replay scans.
func (w *World) scanner() maintenance.Scanner {
	if w.Engine.Between != nil {
		if between, ok := w.Engine.Between(w.Engine.API).(maintenance.Scanner); ok {
			return between
		}
	}
	return w.Engine.API.(maintenance.Scanner)
}

// longerUntil is until when the orders of lives may be paid in the end.
var longerUntil = Start.Add(2 * time.Hour)

// lives makes a sale with payments, a group and a maxStock, in which after the instant of the
// restore everything happens that a replay knows.
func (w *World) lives() *past {
	w.T.Helper()
	c := w.Sale(5, 2)
	c.PayWithin, c.Price, c.Currency, c.LimitGroup, c.MaxStock = payWithin, 199900, "CNY", "shoe", 9
	c.Labels = "tokyo"
	w.Create(c)
	alice := w.Ordered("alice", "ann")
	early := w.bought("early")
	w.Reports(halves("a", "done a 1"))
	w.Reports(halves("again", "failed a 1"))
	w.Reports(halves("again", "done b 1"))
	p := &past{World: w, kept: w.table(), lost: maintenance.Lost{RestoredTo: w.Now()}}
	w.Pass(time.Minute)
	w.Confirmed(early)
	w.Settles(PaymentOf(alice[0], "a"))
	w.Settles(PaymentOf(alice[0], "again"))
	wrong := PaymentOf(alice[1], "wrong")
	wrong.Amount--
	w.Settles(wrong)
	w.Pass(time.Second)
	w.Cancels("ann")
	w.Add("more", 3)
	w.extends(longerUntil)
	orders := w.Ordered("bob", "carol")
	w.Cancels("carol")
	w.Settles(PaymentOf(orders[0], "b"))
	w.Settles(PaymentOf(orders[1], "c"))
	w.Settles(sale.Payment{Provider: "stripe", Reference: "stray", Amount: 1, Currency: "CNY"})
	w.ReleasesBy(w.Environment())
	w.Accepted(w.BuyWith("dave", "key-d"))
	w.Pass(time.Minute)
	p.full = w.table()
	p.remember("alice", "ann", "bob", "carol", "dave", "early")
	return p
}

// cancels makes a sale in which after the instant of the restore an operator cancels orders: alice's and bob's,
// which are paid, alice's paid back, too, and carol's and dave's. The units of alice and carol are back, and one is bought again.
func (w *World) cancels() *past {
	w.T.Helper()
	w.becomes(table{})
	w.OpenPriced(5, 2)
	users := []string{"alice", "bob", "carol", "dave"}
	ids := w.Ordered(users...)
	for i := range 2 {
		w.Settles(PaymentOf(ids[i], users[i]))
	}
	w.Reports(BackOf("alice"))
	p := &past{World: w, kept: w.table(), lost: maintenance.Lost{RestoredTo: w.Now()}}
	for i, saw := range []sale.ClaimState{sale.Paid, sale.Paid, sale.Confirmed, sale.Confirmed} {
		w.Pass(time.Second)
		w.Succeeds(w.Environment().CancelOrder(w.Ctx, cancellation(users[i], ids[i], saw, []sale.Unit{sale.UnitBack, sale.UnitKept}[i%2])))
	}
	w.Ordered("erin")
	w.Pass(time.Minute)
	p.full = w.table()
	p.remember(append(users, "erin")...)
	return p
}

// isCancelled checks that the orders are cancelled as if there had been no restore, and the books balance.
func (p *past) isCancelled(about string) {
	p.T.Helper()
	noDiff(p.T, promised(p.full), promised(p.table()), "%s", about)
	p.Settled(2)
	if s := p.Current(); s.Cancelled != 4 || p.Stock(2)[0]+p.Stock(2)[1] != 2 {
		p.T.Errorf("%s: the sale is %+v, with the stock %v", about, s, p.Stock(2))
	}
	if again := p.replays(p.Environment(), false); again.Missing() != 0 || len(again.Problems) != 0 {
		p.T.Errorf("%s: still missing: %+v", about, again)
	}
}

// remember takes the facts from the table, as logs and events have them.
func (p *past) remember(users ...string) {
	p.T.Helper()
	for _, user := range users {
		c := p.claimOf(user)
		p.lost.Claims = append(p.lost.Claims, sale.Claim{
			SaleID: c.SaleID, User: c.User, ID: c.ID, Shard: c.Shard, AcceptedAt: c.AcceptedAt, RequestKey: c.RequestKey, OrderID: c.OrderID,
			PaidAt: c.PaidAt, Payment: c.Payment, Amount: c.Amount, Currency: c.Currency, ReleasedAt: c.ReleasedAt, ReleasedBy: c.ReleasedBy,
			CancelledAt: c.CancelledAt, Unit: c.Unit, Units: c.Units,
		})
	}
	for _, saleID := range []string{"moutai", ""} {
		refunds, err := p.Environment().Refunds(p.Ctx, saleID)
		p.Succeeds(nil, err)
		for _, r := range refunds {
			r.Returned = sale.Returned{} // which events do not tell
			p.lost.Refunds = append(p.lost.Refunds, r)
		}
	}
	changes, _, err := p.Environment().Trail(p.Ctx, "moutai", 9)
	p.Succeeds(nil, err)
	for _, c := range changes {
		switch c.Action {
		case sale.ActionAdd:
			p.lost.Additions = append(p.lost.Additions, maintenance.LostAddition{SaleID: "moutai", Change: c})
		case sale.ActionExtend:
			p.lost.PayUntil = map[string]time.Time{"moutai": c.PayUntil}
		}
	}
}

// replays runs a replay, or a check without writes.
func (p *past) replays(l *ledger.Ledger, write bool) maintenance.Replayed {
	p.T.Helper()
	done, err := maintenance.Of(l).Replay(p.Ctx, p.scanner(), p.lost, write)
	p.Succeeds(nil, err)
	return done
}

// promised are the items that buyers and others were told of, with what they must say.
func promised(all table) map[string]string {
	told := map[string]string{}
	for key, it := range all {
		switch kind, _, _ := strings.Cut(key, "#"); kind {
		case "CLAIM", "ORDER", "GUARD", "PAYMENT", "REFUND", "GROUP", "CANCELLED", "MONEY":
			said := ""
			for _, name := range slices.Sorted(maps.Keys(it)) {
				if kind == "CANCELLED" && !slices.Contains([]string{"at", "saw", "unit"}, name) {
					continue // who it was is lost
				}
				said += fmt.Sprintf("%s=%v ", name, value(it[name]))
			}
			told[key] = said
		}
	}
	return told
}

// isWhole checks that the table is as it would be without the restore, but for edits, and that an
// independent recount finds it balanced.
func (p *past) isWhole(about string) {
	p.T.Helper()
	now := p.table()
	noDiff(p.T, promised(p.full), promised(now), "%s", about)
	if p.Settled(2); now["SALES moutai"]["refundAt"] == nil {
		p.T.Errorf("%s: the listing notes no refund", about)
	}
	if s := p.Current(); !s.PayUntil.Equal(longerUntil) || s.MinReader != sale.ReadsOperators {
		p.T.Errorf("%s: orders may be paid until %v, for readers of version %d", about, s.PayUntil, s.MinReader)
	}
	var units int64
	for _, left := range p.Stock(2) {
		units += left
	}
	if units != 4 || p.Number("SALE#moutai", "SALE", "room") != 1 || p.Number("SALE#moutai", "SALE", "seeded") != 8 {
		p.T.Errorf("%s: %d units are left, the sale is %v", about, units, p.Item("SALE#moutai", "SALE"))
	}
	same(p.T, value(p.Item("SALE#moutai", "SALE")["paused"]), "true", "%s", about)
	for key, least := range map[string]int64{"SALE#moutai|SALE|version": 1_000_001, "SALE#moutai|SALE|edits": 1_000_000, "SEQ#2026-11-11|SEQ|next": 100_000_002} {
		at := strings.Split(key, "|")
		if n := p.Number(at[0], at[1], at[2]); n < least || n > least+1000 {
			p.T.Errorf("%s: %s is %d, want it to have leapt once", about, key, n)
		}
	}
	if again := p.replays(p.Environment(), false); again.Missing() != 0 || len(again.Problems) != 0 {
		p.T.Errorf("%s: still missing: %+v", about, again)
	}
}

// tampers sets a number behind the ledger's back.
func (p *past) tampers(pk, sk, attribute string, n int) {
	p.T.Helper()
	p.tamper(pk, sk, "SET "+attribute+" = :x", stored{":x": &types.AttributeValueMemberN{Value: fmt.Sprint(n)}})
}

// restoredInPart restores in part what lives and cancels make.
func (w *World) restoredInPart() {
	w.T.Helper()
	p := w.lives()
	p.inPart(p.isWhole)
	p = w.cancels()
	p.inPart(p.isCancelled)
}

// inPart restores the table with one item of the lost time, or without one, in turn for each of them, and
// replays what was lost.
func (p *past) inPart(check func(about string)) {
	p.T.Helper()
	for _, key := range slices.Sorted(maps.Keys(p.full)) {
		if slices.Equal(flat(p.kept[key]), flat(p.full[key])) {
			continue
		}
		alone, without := maps.Clone(p.kept), maps.Clone(p.full)
		if alone[key] = p.full[key]; p.kept[key] == nil {
			delete(without, key)
		} else {
			without[key] = p.kept[key]
		}
		for about, restored := range map[string]table{"only": alone, "all but": without} {
			if p.leavesOut() {
				continue
			}
			p.becomes(restored)
			p.replays(p.Environment(), true)
			check(about + " " + key)
		}
	}
}
