package books

import (
	"context"
	"slices"
	"strconv"
)

// guardItem is PAYMENT#<provider>#<reference>, PAYMENT: the one fate of a payment.
type guardItem struct {
	payment  string
	fate     string // paid or refund-due
	sale     string // "" if the order is unknown
	orderID  int64  // 0 if the payment named none
	amount   int64
	currency string
	at       int64
}

func guardKey(payment string) key { return key{"PAYMENT#" + payment, "PAYMENT"} }

func readGuard(it item) (g guardItem, problem string) {
	f := newFields(it)
	_, payment, _ := cutKind(keyOf(it).pk)
	g = guardItem{payment: payment, fate: f.text("fate"), amount: f.within("amount", 0, maxPrice), currency: f.text("currency"), at: f.instant("at")}
	if !isPayment(payment) || keyOf(it).sk != "PAYMENT" {
		f.fail("its key is no payment's")
	}
	if !slices.Contains([]string{"paid", "refund-due"}, g.fate) {
		f.fail("fate is not paid or refund-due")
	}
	if !isCurrency(g.currency) {
		f.fail("currency is not three capital letters")
	}
	if f.has("saleId") {
		g.sale = f.id("saleId")
	}
	if f.has("orderId") {
		g.orderID = f.within("orderId", 1, 1<<63-1)
	}
	if g.orderID == 0 && (g.fate == "paid" || g.sale != "") {
		f.fail("orderId is missing")
	}
	if g.sale == "" && g.fate == "paid" {
		f.fail("saleId is missing")
	}
	return g, f.end()
}

// checkPaid compares the claims of a page with the guards of their payments and with the
// refunds that they note. A payment that was recorded before there were guards has none.
func (p *pass) checkPaid(ctx context.Context, claims []Claim) error {
	asks := p.terms()
	var keys []key
	for _, c := range claims {
		if isPayment(c.payment) {
			keys = append(keys, guardKey(c.payment))
		}
		for _, payment := range c.refunds {
			keys = append(keys, key{"REFUND#" + p.saleID, payment})
		}
	}
	found, err := p.get(ctx, keys)
	if err != nil {
		return err
	}
	for _, c := range claims {
		for _, payment := range c.refunds {
			if r, _ := readRefund(orderOrNone(found[key{"REFUND#" + p.saleID, payment}])); r.user != c.User || uint64(r.orderID) != c.orderID {
				p.find("P24", "refund "+payment+" noted", "the claim of %q says that %s is to be refunded, but there is no such refund of its order", c.User, payment)
			}
		}
		it := found[guardKey(c.payment)]
		if it == nil {
			continue
		}
		g, problem := readGuard(it)
		p.malformed(it, problem)
		if problem == "" && (g.fate != "paid" || g.sale != p.saleID || uint64(g.orderID) != c.orderID || g.at != c.paidAt ||
			asks.price != 0 && (g.amount != asks.price || g.currency != asks.currency)) {
			p.find("P24", "guard "+c.payment, "%s has paid order %s of %q at %s, but its guard says at %s: %s, %d %s, order %d of sale %q",
				c.payment, c.OrderID, c.User, clock(c.paidAt), clock(g.at), g.fate, g.amount, g.currency, g.orderID, g.sale)
		}
	}
	return nil
}

// checkRefundGuards does the same with refunds.
func (p *pass) checkRefundGuards(ctx context.Context, refunds []refundItem) error {
	keys := make([]key, len(refunds))
	for i, r := range refunds {
		keys[i] = guardKey(r.payment)
	}
	guards, err := p.get(ctx, keys)
	if err != nil {
		return err
	}
	for i, r := range refunds {
		it := guards[keys[i]]
		if r.sale != "" && (it == nil) != (r.user == "") {
			p.find("P24", "guard "+r.payment+" user", "the refund of %s has a guard or a user, and not both", r.payment)
		}
		if it == nil {
			continue
		}
		g, problem := readGuard(it)
		p.malformed(it, problem)
		if problem == "" && g != (guardItem{r.payment, "refund-due", r.sale, r.orderID, r.amount, r.currency, r.at}) {
			p.find("P24", "guard "+r.payment, "the refund of %d %s for %s and order %d is not what the payment's guard says: %s, %d %s, order %d of sale %q",
				r.amount, r.currency, r.payment, r.orderID, g.fate, g.amount, g.currency, g.orderID, g.sale)
		}
	}
	return nil
}

// checkGuards finds the guards of a page, of the sale or of unknown orders, whose payment is
// neither its order's nor to be refunded.
func (p *pass) checkGuards(ctx context.Context, guards []guardItem) error {
	if p.buckets == 0 {
		return nil
	}
	orderOf := func(g guardItem) key { return key{"ORDER#" + strconv.FormatInt(g.orderID, 10), "ORDER"} }
	refundOf := func(g guardItem) key { return key{"REFUND#" + g.sale, g.payment} }
	var keys []key
	for _, g := range guards {
		if g.fate == "paid" {
			keys = append(keys, orderOf(g))
		} else {
			keys = append(keys, refundOf(g))
		}
	}
	found, err := p.get(ctx, keys)
	if err != nil {
		return err
	}
	claimOf := func(g guardItem) key {
		o, _ := readOrder(orderOrNone(found[orderOf(g)]))
		if o.SaleID != p.saleID || !isUser(o.User) {
			return key{}
		}
		return key{p.claimPK(bucketOf(o.User, p.buckets)), o.User}
	}
	keys = keys[:0]
	for _, g := range guards {
		if k := claimOf(g); g.fate == "paid" && k != (key{}) {
			keys = append(keys, k)
		}
	}
	claims, err := p.get(ctx, keys)
	if err != nil {
		return err
	}
	for _, g := range guards {
		if g.fate != "paid" {
			if found[refundOf(g)] == nil {
				p.find("P24", "guard "+g.payment, "%s is to be refunded, says its guard, but there is no refund", g.payment)
			}
			continue
		}
		if c, _ := readClaim(orderOrNone(claims[claimOf(g)]), 0); c.payment != g.payment {
			p.find("P24", "guard "+g.payment, "%s has paid order %d, says its guard, but the order is not paid by it", g.payment, g.orderID)
		}
	}
	return nil
}
