package books

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// The minReader of the items of a sale that asks for payment, of one with a group, of one
	// that was recalled, of one with a draw, and of one that is sealed.
	paymentReader, groupReader, recallReader, drawReader, sealedReader = 2, 3, 3, 4, 5
	// The bounds of payWithin, in seconds.
	minPayWithin, maxPayWithin = 60, 7 * 24 * 60 * 60
	maxPrice                   = 1_000_000_000_000
	// maxGrace is the longest that a claim may be due before it is released.
	maxGrace = 24 * time.Hour
)

// terms are what a sale asks of payments; zero if it asks for none.
type terms struct {
	payWithin int64 // seconds
	price     int64
	currency  string
}

func (f *fields) terms() (t terms) {
	t.payWithin, t.price = optional(f, "payWithin", f.between(minPayWithin, maxPayWithin)), optional(f, "price", f.between(1, maxPrice))
	t.currency = optional(f, "currency", f.currency)
	f.failIf((t.price == 0) != (t.currency == ""), "price and currency do not come together")
	return t
}

// currency is a string of three capital letters.
func (f *fields) currency(name string) string {
	s := f.text(name)
	f.failIf(len(s) != 3 || strings.ContainsFunc(s, func(r rune) bool { return r < 'A' || r > 'Z' }), name+" is not three capital letters")
	return s
}

// minReader is 0 if there is none.
func (f *fields) minReader() int64 {
	return optional(f, "minReader", f.between(paymentReader, sealedReader))
}

// isPayment reports whether s is a payment's id: a provider and its reference.
func isPayment(s string) bool {
	provider, reference, _ := strings.Cut(s, "#")
	return isID(provider) && reference != "" && isText(reference, 200)
}

// maxClaimRefunds is how many refunds a claim notes.
const maxClaimRefunds = 20

// settlement is how a claim ended: paid, released or neither.
type settlement struct {
	refunds    []string // payments of its order that are to be refunded
	paidAt     int64    // 0 if it is not paid
	payment    string
	amount     int64
	currency   string
	releasedAt int64 // 0 if it is not released
	releasedBy string
	minReader  int64
}

func (f *fields) settlement() (s settlement) {
	s.minReader = f.minReader()
	if f.has("paidAt") || f.has("payment") || f.has("amount") || f.has("currency") {
		s.paidAt, s.payment, s.amount, s.currency = f.instant("paidAt"), f.text("payment"), f.within("amount", 0, maxPrice), f.currency("currency")
		f.failIf(!isPayment(s.payment), "payment is no provider#reference")
	}
	if f.has("releasedAt") || f.has("releasedBy") {
		s.releasedAt, s.releasedBy = f.instant("releasedAt"), f.oneOf("releasedBy", "expiry", "buyer", "operator")
	}
	s.refunds = optional(f, "refunds", f.texts)
	others := slices.DeleteFunc(slices.Clone(s.refunds), func(payment string) bool { return payment == s.payment })
	f.failIf(len(others) > maxClaimRefunds, "refunds are more than 20")
	for _, payment := range s.refunds {
		f.failIf(!isPayment(payment), "refunds has what is no provider#reference")
	}
	return s
}

// State is the claim's state as its buyer is shown it.
func (c Claim) State() string {
	switch {
	case c.releasedAt != 0 && c.releasedBy == "expiry":
		return "EXPIRED"
	case c.releasedAt != 0:
		return "CANCELLED"
	case c.paidAt != 0:
		return "PAID"
	case c.OrderID != "":
		return "CONFIRMED"
	}
	return "PENDING"
}

// Payment is the provider and the reference of the payment of a claim; "" if it is not paid.
func (c Claim) Payment() string { return c.payment }

// End is how the claim ended: its payment, or by whom it was released; "" if it has not.
func (c Claim) End() string { return c.payment + c.releasedBy }

// settle counts how a claim ended and checks it.
func (p *pass) settle(c Claim) {
	about := fmt.Sprintf("claim %d %s settled", c.Bucket, c.User)
	asks, now := p.lasting().terms, p.Now().Add(skew).UnixMilli()
	due := c.ConfirmedAt.Add(time.Duration(asks.payWithin) * time.Second).UnixMilli()
	confirmed := c.ConfirmedAt.Add(-skew).UnixMilli()
	if needs := p.needs(); c.minReader != needs {
		p.find("P19", about+" minReader", "the claim of %q is for readers of version %d, of a sale for version %d", c.User, c.minReader, needs)
	}
	if c.paidAt != 0 && c.releasedAt != 0 {
		p.find("P20", about, "the claim of %q is paid and released", c.User)
	}
	switch final := c.paidAt != 0 || c.releasedAt != 0; {
	case final && c.OrderID == "":
		p.find("P20", about+" order", "the claim of %q is paid or released, and has no order", c.User)
		return
	case c.releasedAt != 0 && c.releasedBy == "operator" && p.before.sale.recalledAt == 0:
		p.find("P35", about+" operator", "the claim of %q was released by the operator, but the sale was not recalled", c.User)
	case c.releasedAt != 0 && c.releasedBy != "operator" && asks.payWithin == 0:
		p.find("P20", about+" final", "the claim of %q is released, but the sale asks for no payment", c.User)
	case !final && c.OrderID != "":
		if p.open(c); asks.payWithin == 0 && p.before.sale.recalledAt == 0 {
			break
		}
		if p.unpaid++; due < p.oldestDue || p.unpaid == 1 {
			p.oldestDue = due
		}
	}
	if c.paidAt != 0 {
		p.paid++
		p.compare(payments, hashOf(c.payment), c.owner)
		if c.paidAt < confirmed || c.paidAt > now {
			p.find("P24", about+" paidAt", "the claim of %q was paid at %s, its order is of %s", c.User, clock(c.paidAt), clock(c.ConfirmedAt.UnixMilli()))
		}
		if asks.price != 0 && (c.amount != asks.price || c.currency != asks.currency) {
			p.find("P24", about+" amount", "the claim of %q was paid by %d %s, but the price is %d %s", c.User, c.amount, c.currency, asks.price, asks.currency)
		}
	}
	if c.releasedAt == 0 {
		return
	}
	if c.Shard >= 0 && c.Shard < p.n {
		p.released[c.Shard]++
		p.draw.lastReleased = max(p.draw.lastReleased, c.releasedAt)
	}
	switch {
	case c.releasedBy == "expiry" && c.releasedAt < due:
		p.find("P21", about+" early", "the claim of %q expired at %s, before it was to be paid: %s", c.User, clock(c.releasedAt), clock(due))
	case c.releasedAt < confirmed || c.releasedAt > now:
		p.find("P21", about+" releasedAt", "the claim of %q was released at %s, its order is of %s", c.User, clock(c.releasedAt), clock(c.ConfirmedAt.UnixMilli()))
	}
}

// needs is the minReader of the sale, its listing and its claims; 0 for none.
func (p *pass) needs() int64 {
	switch l := p.lasting(); {
	case l.hasDraw():
		return drawReader
	case l.group != "":
		return groupReader
	case l.terms.payWithin != 0:
		return paymentReader
	}
	return 0
}

// putBacks are the least and the most transactions that put units back: at least one on
// each shard that has some, and at most one for each unit.
func (p *pass) putBacks() (low, high int64) {
	for _, s := range p.shards1 {
		if s != nil && s.putBack > 0 {
			low, high = low+1, high+s.putBack
		}
	}
	return low, high
}

// judgePayments compares what the sale's items say about payments.
func (p *pass) judgePayments(h *header) {
	p.judgeLabels(h)
	asks := p.lasting().terms
	p.findIf(h.hasSale && h.hasCreate && h.sale.terms != h.create.terms, "P15", "sale terms",
		"the sale asks for payment as in %+v, but was created with %+v", h.sale.terms, h.create.terms)
	needs := p.needs()
	if h.sale.recalledAt != 0 {
		needs = max(needs, recallReader)
	}
	if h.sale.sealedAt != 0 {
		needs = sealedReader
	}
	p.findIf(h.hasSale && h.sale.minReader != needs, "P19", "sale minReader", "the sale is for readers of version %d, and needs version %d", h.sale.minReader, needs)
	if needs := p.needs(); h.listed && h.listing.minReader != needs {
		p.find("P19", "listing minReader", "the sale's listing is for readers of version %d, and needs version %d", h.listing.minReader, needs)
	}
	p.findIf(h.listed && h.listing.payWithin != asks.payWithin, "P22", "listing payWithin",
		"the list of sales says %d seconds to pay, the sale %d", h.listing.payWithin, asks.payWithin)
	if at := p.before.listing.refundAt; h.listed && (at != 0 || p.refundsDue > 0) && !p.isNoted {
		p.find("P24", "listing refundAt", "of %d refunds, %d of them due, the list of sales notes one of %s, which is none of them: reconcile may not see one that is due", p.refunds, p.refundsDue, clock(at))
	}
	waiting := int64(0)
	for k, s := range p.shards1 {
		if s == nil {
			continue
		}
		s0 := p.shards0[k]
		if s0 == nil {
			s0 = s
		}
		name, released := shardName(k), p.released[k]
		p.findIf(s.counts != (asks.payWithin != 0) && !(s.counts && h.sale.recalledAt != 0), "P19", name+" counts",
			"%s counts released units: %t, but the sale has %d seconds to pay", name, s.counts, asks.payWithin)
		p.findIf(released < s0.released || released > s.released, "P2", name+" released",
			"%s counts %d to %d released claims, but %d are", name, s0.released, s.released, released)
		p.findIf(s.putBack < 0 || s.putBack > s.released, "P2", name+" putBack", "%s has %d units put back, but %d released", name, s.putBack, s.released)
		waiting += s.released - s.putBack
	}
	if waiting > 0 {
		p.unfinish("%d released units are not back in stock yet", waiting)
	}
	drained := h.listing.drained && p.before.listing.drained
	p.findIf(drained && (p.unpaid > 0 || waiting > 0), "P22", "listing unpaid",
		"the sale is drained with %d claims unpaid and %d released units not in stock: nobody releases or puts them back", p.unpaid, waiting)
	if late := p.Now().Sub(time.UnixMilli(p.oldestDue)); p.unpaid > 0 && late > maxGrace+p.Overdue && !h.sale.paused {
		p.find("P22", "unpaid", "%d claims are unpaid, the oldest was to be paid %v ago", p.unpaid, late.Round(time.Second))
	}
}

// refundItem is REFUND#<sale>, <provider>#<reference>. The sale is "" if the order is
// unknown.
type refundItem struct {
	sale, payment  string
	orderID        int64 // 0 if the payment named none
	user           string
	reason         string
	amount         int64
	currency       string
	labels         string
	at, refundedAt int64 // refundedAt is 0 while it is due
}

func readRefund(it item) (r refundItem, problem string) {
	f := newFields(it)
	_, of, _ := cutKind(keyOf(it).pk)
	r = refundItem{
		sale: of, payment: keyOf(it).sk, reason: f.oneOf("reason", "released", "other-payment", "amount", "recalled", "unknown-order"), amount: f.within("amount", 0, maxPrice),
		currency: f.currency("currency"), labels: f.labels(), at: f.instant("at"),
	}
	f.failIf(!isPayment(r.payment), "sk is no provider#reference")
	r.orderID, r.user, r.refundedAt = optional(f, "orderId", f.positive), optional(f, "user", f.text), optional(f, "refundedAt", f.instant)
	f.failIf(f.has("user") && !isUser(r.user), "user is no user id")
	f.failIf(f.has("refundedAt") && r.refundedAt < r.at-skew.Milliseconds(), "refundedAt is before at")
	switch unknown := r.reason == "unknown-order"; {
	case unknown != (of == ""):
		f.fail("reason and sale do not go together")
	case unknown && r.user != "":
		f.fail("user is there, but the order is unknown")
	case !unknown && (r.orderID == 0 || r.user == ""):
		f.fail("orderId or user is missing")
	}
	return r, f.end()
}

// readRefunds compares the sale's refunds, and those of unknown orders, with each other,
// with the claims of their orders and with all payments of claims (P24).
func (p *pass) readRefunds(ctx context.Context) error {
	for _, of := range []string{p.saleID, ""} {
		err := p.partition(ctx, "REFUND#"+of, 0, func(items []item) error {
			refunds := make([]refundItem, 0, len(items))
			for _, it := range items {
				r, problem := readRefund(it)
				p.malformed(it, problem)
				if problem == "" {
					refunds = append(refunds, r)
				}
				if problem == "" && r.reason != recalled { // such a payment has paid its order
					p.compare(payments, hashOf(r.payment), func() string { return fmt.Sprintf("the refund REFUND#%s, %s", of, r.payment) })
				}
				if of == "" {
					continue
				}
				p.refunds++
				p.isNoted = p.isNoted || r.at == p.before.listing.refundAt
				if r.refundedAt == 0 {
					p.refundsDue++
				}
			}
			return p.checkRefunds(ctx, refunds)
		})
		if err != nil {
			return err
		}
	}
	p.findDoubles(payments)
	return nil
}

func (p *pass) checkRefunds(ctx context.Context, refunds []refundItem) error {
	if err := p.checkRefundGuards(ctx, refunds); err != nil || p.buckets == 0 {
		return err
	}
	var orders []int64
	for _, r := range refunds {
		if r.orderID != 0 {
			orders = append(orders, r.orderID)
		}
	}
	claims, err := p.claimsOf(ctx, orders)
	if err != nil {
		return err
	}
	for _, r := range refunds {
		p.checkRefund(r, claims[r.orderID])
	}
	return nil
}

// claimsOf returns the claims of orders of the sale, by order id.
func (p *pass) claimsOf(ctx context.Context, orderIDs []int64) (map[int64]item, error) {
	users, claims := map[int64]string{}, map[int64]item{}
	orderKey := func(id int64) key { return key{"ORDER#" + strconv.FormatInt(id, 10), "ORDER"} }
	err := lookUp(ctx, p, orderIDs, orderKey, func(id int64, it item) {
		if o, _ := readOrder(it); o.SaleID == p.saleID {
			users[id] = o.User
		}
	})
	if err != nil {
		return nil, err
	}
	claimOf := func(id int64) key { return p.claimKey(users[id]) }
	return claims, lookUp(ctx, p, slices.Collect(maps.Keys(users)), claimOf, func(id int64, it item) { claims[id] = it })
}

// checkRefund compares a refund with the claim of its order; nil if there is none.
func (p *pass) checkRefund(r refundItem, it item) {
	about := "refund " + r.payment
	if r.sale != "" {
		p.checkLabels(about, "the refund of "+r.payment, r.labels)
	}
	if latest := max(r.at, r.refundedAt); latest > p.Now().Add(skew).UnixMilli() {
		p.find("P24", about+" at", "the refund of %s was recorded or made at %s, which is in the future", r.payment, clock(latest))
	}
	if it == nil {
		p.findIf(r.sale != "", "P24", about, "a refund of %s is due for order %d, which is no order of this sale", r.payment, r.orderID)
		return
	}
	c, _ := readClaim(it, 0)
	p.findIf(r.sale != "" && (r.user != c.User || len(c.refunds) < maxClaimRefunds && !slices.Contains(c.refunds, r.payment)), "P24", about+" user",
		"%s is to be refunded to %q, but the claim of its order is of %q and does not note it, or is another's", r.payment, r.user, c.User)
	asks := p.lasting().terms
	isPrice := asks.price == 0 || r.amount == asks.price && r.currency == asks.currency
	switch {
	case r.reason == "unknown-order":
	case isPrice == (r.reason == "amount"):
		p.find("P24", about, "%d %s of %s is to be refunded because of %q, but the price is %d %s", r.amount, r.currency, r.payment, r.reason, asks.price, asks.currency)
	case r.reason == recalled && p.after.sale.recalledAt == 0:
		p.find("P35", about, "%s is to be refunded because of a recall, but the sale was not recalled", r.payment)
	case r.reason == "released" && c.releasedAt == 0, r.reason == "other-payment" && c.paidAt == 0, r.reason == recalled && c.payment != r.payment:
		p.find("P24", about, "%s is to be refunded because of %q, but that is not so of order %s", r.payment, r.reason, c.OrderID)
	}
}

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
	g = guardItem{payment: payment, fate: f.oneOf("fate", "paid", "refund-due"), amount: f.within("amount", 0, maxPrice), currency: f.currency("currency"), at: f.instant("at")}
	f.failIf(!isPayment(payment) || keyOf(it).sk != "PAYMENT", "its key is no payment's")
	g.sale, g.orderID = optional(f, "saleId", f.id), optional(f, "orderId", f.positive)
	f.failIf(g.orderID == 0 && (g.fate == "paid" || g.sale != ""), "orderId is missing")
	f.failIf(g.sale == "" && g.fate == "paid", "saleId is missing")
	return g, f.end()
}

// checkPaid compares the claims of a page with the guards of their payments and with the
// refunds that they note.
func (p *pass) checkPaid(ctx context.Context, claims []Claim) error {
	var keys []key
	for _, c := range claims {
		if isPayment(c.payment) {
			keys = append(keys, guardKey(c.payment))
			if p.before.sale.recalledAt != 0 && !slices.Contains(c.refunds, c.payment) {
				keys = append(keys, key{"REFUND#" + p.saleID, c.payment})
			}
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
			if r, _ := readRefund(found[key{"REFUND#" + p.saleID, payment}]); r.user != c.User || uint64(r.orderID) != c.orderID {
				p.find("P24", "refund "+payment+" noted", "the claim of %q says that %s is to be refunded, but there is no such refund of its order", c.User, payment)
			}
		}
		if r, _ := readRefund(found[key{"REFUND#" + p.saleID, c.payment}]); c.paidAt != 0 && r.reason != recalled {
			p.open(c)
		}
		it := found[guardKey(c.payment)]
		if it == nil {
			if c.paidAt != 0 {
				p.find("P24", "guard "+c.payment, "%s has paid order %s, but has no guard: it may pay another", c.payment, c.OrderID)
			}
			continue
		}
		g, problem := readGuard(it)
		p.malformed(it, problem)
		if problem == "" && (g.fate != "paid" || g.sale != p.saleID || uint64(g.orderID) != c.orderID || g.at != c.paidAt ||
			g.amount != c.amount || g.currency != c.currency) {
			p.find("P24", "guard "+c.payment, "%s has paid order %s of %q at %s, %d %s, but its guard says at %s: %s, %d %s, order %d of sale %q",
				c.payment, c.OrderID, c.User, clock(c.paidAt), c.amount, c.currency, clock(g.at), g.fate, g.amount, g.currency, g.orderID, g.sale)
		}
	}
	return nil
}

// checkRefundGuards does the same with refunds.
func (p *pass) checkRefundGuards(ctx context.Context, refunds []refundItem) error {
	return lookUp(ctx, p, refunds, func(r refundItem) key { return guardKey(r.payment) }, func(r refundItem, it item) {
		if it == nil {
			p.find("P24", "guard "+r.payment, "the refund of %s has no guard: the payment may pay an order, too", r.payment)
			return
		}
		g, problem := readGuard(it)
		p.malformed(it, problem)
		want := guardItem{r.payment, "refund-due", r.sale, r.orderID, r.amount, r.currency, r.at}
		if r.reason == recalled { // the guard says that the payment has paid its order, and when
			want.fate, want.at = "paid", g.at
		}
		p.findIf(problem == "" && g != want, "P24", "guard "+r.payment, "the refund of %d %s for %s and order %d is not what the payment's guard says: %s, %d %s, order %d of sale %q",
			r.amount, r.currency, r.payment, r.orderID, g.fate, g.amount, g.currency, g.orderID, g.sale)
	})
}

// checkGuards finds the guards of a page, of the sale or of unknown orders, whose payment is
// neither its order's nor to be refunded.
func (p *pass) checkGuards(ctx context.Context, guards []guardItem) error {
	if p.buckets == 0 {
		return nil
	}
	var orders []int64
	for _, g := range guards {
		if g.fate == "paid" {
			orders = append(orders, g.orderID)
		}
	}
	claims, err := p.claimsOf(ctx, orders)
	if err != nil {
		return err
	}
	refundOf := func(g guardItem) key { return key{"REFUND#" + g.sale, g.payment} }
	return lookUp(ctx, p, guards, refundOf, func(g guardItem, refund item) {
		if g.fate != "paid" {
			p.findIf(refund == nil, "P24", "guard "+g.payment, "%s is to be refunded, says its guard, but there is no refund", g.payment)
			return
		}
		if c, _ := readClaim(claims[g.orderID], 0); c.payment != g.payment {
			p.find("P24", "guard "+g.payment, "%s has paid order %d, says its guard, but the order is not paid by it", g.payment, g.orderID)
		}
	})
}
