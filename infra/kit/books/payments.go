package books

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

const (
	// The minReader of the items of a sale that asks for payment, of one with a group, of one
	// that was recalled, of one with a draw, and of one that is sealed.
	paymentReader, groupReader, recallReader, drawReader, sealedReader = 2, 3, 3, 4, 5
	// operatorsReader is that of a sale with lateDays, of the item of one whose unpaid orders were given more time, and of the claim of a cancelled
	// order that was paid or whose unit is kept.
	operatorsReader = 6
	// extrasReader is that of the item of a sale with extras, unitsReader of what belongs to one with a maxPerOrder.
	extrasReader, unitsReader = 7, 8
	// reachesAll is longer than an edit takes to reach every shard.
	reachesAll = 5 * time.Minute
	// maxGrace is the longest that a claim may be due before it is released.
	maxGrace = 24 * time.Hour
)

// maxClaimRefunds is how many refunds a claim notes.
const maxClaimRefunds = 20

// State is the claim's state as its buyer is shown it.
func (c Claim) State() string {
	switch {
	case c.ReleasedAt != 0 && c.ReleasedBy == "expiry":
		return "EXPIRED"
	case c.ReleasedAt != 0, c.CancelledAt != 0:
		return "CANCELLED"
	case c.PaidAt != 0:
		return "PAID"
	case c.OrderID != "":
		return "CONFIRMED"
	}
	return "PENDING"
}

// End is how the claim ended: its payment, or by whom it was released; "" if it has not. A cancelled order that
// was paid has its payment.
func (c Claim) End() string { return c.Payment + c.ReleasedBy }

// settle counts how a claim ended and checks it.
func (p *pass) settle(c Claim) {
	about := fmt.Sprintf("claim %d %s settled", c.Bucket, c.User)
	asks, now := p.lasting().terms, p.Now().Add(skew).UnixMilli()
	due := c.ConfirmedAt.Add(time.Duration(asks.PayWithin) * time.Second).UnixMilli()
	confirmed := c.ConfirmedAt.Add(-skew).UnixMilli()
	needs := p.needs()
	if c.CancelledAt != 0 || c.Unit == "kept" {
		needs = max(needs, operatorsReader)
	}
	p.findIf(c.MinReader != needs, "P19", about+" minReader", "the claim of %q is for readers of version %d, and needs version %d", c.User, c.MinReader, needs)
	p.takeCancelled(c)
	p.findIf(c.PaidAt != 0 && c.ReleasedAt != 0, "P20", about, "the claim of %q is paid and released", c.User)
	switch final := c.PaidAt != 0 || c.ReleasedAt != 0; {
	case final && c.OrderID == "":
		p.find("P20", about+" order", "the claim of %q is paid or released, and has no order", c.User)
		return
	case c.ReleasedAt != 0 && c.ReleasedBy == "operator" && c.Unit == "" && p.before.sale.RecalledAt == 0:
		p.find("P35", about+" operator", "the claim of %q was released by the operator, but the sale was not recalled", c.User)
	case c.ReleasedAt != 0 && c.ReleasedBy != "operator" && asks.PayWithin == 0:
		p.find("P20", about+" final", "the claim of %q is released, but the sale asks for no payment", c.User)
	case !final && c.OrderID != "":
		if p.open(c); asks.PayWithin == 0 && p.before.sale.RecalledAt == 0 {
			break
		}
		if p.unpaid++; due < p.oldestDue || p.unpaid == 1 {
			p.oldestDue = due
		}
	}
	if c.PaidAt != 0 {
		if c.CancelledAt == 0 {
			p.paid++
		}
		p.compare(payments, hashOf(c.Payment), c.owner)
		p.findIf(c.RefundedAt != 0 && (c.RefundedAt < c.PaidAt-skew.Milliseconds() || c.RefundedAt > now), "P24", about+" refundedAt",
			"the payment of %q of %s was paid back at %s", c.User, clock(c.PaidAt), clock(c.RefundedAt))
		p.findIf(c.PaidAt < confirmed || c.PaidAt > now, "P24", about+" paidAt",
			"the claim of %q was paid at %s, its order is of %s", c.User, clock(c.PaidAt), clock(c.ConfirmedAt.UnixMilli()))
		p.findIf(asks.Price != 0 && asks.Extras == "" && (c.Amount != c.Count()*asks.Price || c.Currency != asks.Currency), "P24", about+" amount",
			"the claim of %q was paid by %d %s, but the price is %d %s", c.User, c.Amount, c.Currency, c.Count()*asks.Price, asks.Currency)
	}
	ended := max(c.ReleasedAt, c.CancelledAt)
	if ended != 0 && c.Unit != "kept" && c.Shard < p.n {
		p.releasedClaims++
		p.released[c.Shard] += c.Count()
		if c.Unit == "" {
			p.endings[c.Shard]++
		}
		p.draw.lastReleased = max(p.draw.lastReleased, ended)
	}
	switch {
	case c.ReleasedAt == 0:
	case c.ReleasedBy == "expiry" && c.ReleasedAt < due:
		p.find("P21", about+" early", "the claim of %q expired at %s, before it was to be paid: %s", c.User, clock(c.ReleasedAt), clock(due))
	case c.ReleasedBy == "expiry" && c.ReleasedAt < max(p.before.sale.PayUntil, due+asks.late()) && len(p.hasty) < remembered:
		p.hasty = append(p.hasty, c)
	case c.ReleasedAt < confirmed || c.ReleasedAt > now:
		p.find("P21", about+" releasedAt", "the claim of %q was released at %s, its order is of %s", c.User, clock(c.ReleasedAt), clock(c.ConfirmedAt.UnixMilli()))
	}
}

// late is how many milliseconds an overdue order may stay.
func (t terms) late() int64 { return t.LateDays * 24 * time.Hour.Milliseconds() }

// needs is the minReader of the sale, its listing and its claims; 0 for none.
func (p *pass) needs() int64 {
	switch l := p.lasting(); {
	case l.MaxPerOrder != 0:
		return unitsReader
	case l.LateDays != 0:
		return operatorsReader
	case l.hasDraw():
		return drawReader
	case l.LimitGroup != "":
		return groupReader
	case l.terms.PayWithin != 0:
		return paymentReader
	}
	return 0
}

// putBacks are the least and the most transactions of passes that put units back: at least one on
// each shard that has some, unless cancellations brought them back, and at most one for each unit and each claim that is released.
func (p *pass) putBacks() (low, high int64) {
	for k, s := range p.shards1 {
		if s != nil && s.PutBack > p.broughtBack[k] {
			units, claims := s.PutBack-p.broughtBack[k], p.endings[k]
			if p.before.sale.Archive != "" {
				claims = units
			}
			low, high = low+1, high+min(units, claims)
		}
	}
	if p.before.sale.Archive != "" && p.cancelled > 0 { // the archive has the claims that say of which shards
		low = 0
	}
	return low, high
}

// judgePayments compares what the sale's items say about payments.
func (p *pass) judgePayments(h *header) {
	needs := p.needs()
	if h.sale.RecalledAt != 0 {
		needs = max(needs, recallReader)
	}
	if h.sale.PayUntil != 0 {
		needs = max(needs, operatorsReader)
	}
	if h.sale.Extras != "" {
		needs = max(needs, extrasReader)
	}
	if h.sale.SealedAt != 0 {
		needs = max(needs, sealedReader)
	}
	p.findIf(h.hasSale && h.sale.MinReader != needs, "P19", "sale minReader", "the sale is for readers of version %d, and needs version %d", h.sale.MinReader, needs)
	if at := p.before.listing.RefundAt; h.listed && (at != 0 || p.refundsDue > 0) && !p.isNoted {
		p.find("P24", "listing refundAt", "of %d refunds, %d of them due, the list of sales notes one of %s, which is none of them: reconcile may not see one that is due", p.refunds, p.refundsDue, clock(at))
	}
	p.unfinishIf(p.waiting > 0, "%d released units are not back in stock yet", p.waiting)
	drained := h.listing.Drained && p.before.listing.Drained
	p.findIf(drained && (p.unpaid > 0 || p.waiting > 0), "P22", "listing unpaid",
		"the sale is drained with %d claims unpaid and %d released units not in stock: nobody releases or puts them back", p.unpaid, p.waiting)
	late := p.Now().Sub(time.UnixMilli(max(p.oldestDue, h.sale.PayUntil) + h.sale.late()))
	p.findIf(p.unpaid > 0 && late > maxGrace+p.Overdue && !h.sale.Paused, "P22", "unpaid", "%d claims are unpaid, the oldest was to be paid %v ago", p.unpaid, late.Round(time.Second))
}

// judgeReleased compares the released units that a shard counts with its claims.
func (p *pass) judgeReleased(k int, s0, s *shardItem) {
	name, released, payWithin := shardName(k), p.released[k], p.lasting().PayWithin
	p.findIf(s.counts != (payWithin != 0) && !(s.counts && (p.after.sale.RecalledAt != 0 || p.after.sale.Cancelled != 0)), "P19", name+" counts",
		"%s counts released units: %t, but the sale has %d seconds to pay", name, s.counts, payWithin)
	p.findIf(released < s0.Released || released > s.Released, "P2", name+" released",
		"%s counts %d to %d released units, but %d are", name, s0.Released, s.Released, released)
	p.findIf(s.PutBack < 0 || s.PutBack > s.Released, "P2", name+" putBack", "%s has %d units put back, but %d released", name, s.PutBack, s.Released)
	p.waiting += s.Released - s.PutBack
}

// refundItem is REFUND#<sale>, <provider>#<reference>. The sale is "" if the order is
// unknown.
type refundItem struct {
	Sale, Payment string
	OrderID       int64 // 0 if the payment named none
	User, Reason  string
	Amount        int64
	Currency      string
	Labels        string
	At, Again     int64 // Again is 0, or since when it is due again
	returned            // RefundedAt is 0 while it is due
	sent          sentSaid
}

// isDue reports whether it is to be sent: no dispute holds it back.
func (r *refundItem) isDue() bool {
	return r.RefundedAt == 0 && r.Disputed != "open" && r.Disputed != "lost"
}

var readRefund = reader("refund, unknown refund", func(f *fields, r *refundItem) {
	// What has paid an order may have gone back before that was cancelled.
	f.failIf(f.has("refundedAt") && r.RefundedAt < r.At-skew.Milliseconds() && !isPaidFor(r.Reason), "refundedAt is before at")
	f.failIf(f.has("again") && r.Again < r.At-skew.Milliseconds(), "again is before at")
	f.with("unmarkedBy", "unmarkNote") // the note goes when its user is erased, or the sale archived
	r.returned.check(f)
	r.checkSent(f)
	f.failIf(f.has("refundedBy") && !f.has("refundedAt"), "refundedBy is of no refund that is done")
	f.failIf(r.Sale != "" && r.User == "", "user is missing")
})

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
					p.takeSent(&r)
					if !isPaidFor(r.Reason) {
						p.compare(payments, hashOf(r.Payment), func() string { return fmt.Sprintf("the refund REFUND#%s, %s", of, r.Payment) })
					}
				}
				if of == "" {
					continue
				}
				p.refunds++
				p.isNoted = p.isNoted || r.At == p.before.listing.RefundAt || r.Again != 0 && r.Again == p.before.listing.RefundAt
				if r.isDue() {
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
	return p.readSendings(ctx)
}

func (p *pass) checkRefunds(ctx context.Context, refunds []refundItem) error {
	if err := p.checkRefundGuards(ctx, refunds); err != nil {
		return err
	}
	told := slices.DeleteFunc(slices.Clone(refunds), func(r refundItem) bool { return r.Money == 0 })
	err := lookUp(ctx, p, told, func(r refundItem) key { return accountKey(r.Payment) }, func(r refundItem, it item) {
		p.checkMoney(r.Payment, r.Amount, r.Currency, r.returned, true, it)
		a, _ := readAccount(it)
		p.findIf(a.V == r.Money && r.sent.State == "accepted" && a.refunds[r.sent.Refund].State == "failed", "P43", "sent "+r.Payment,
			"the refund %s of %s is said to be accepted, but has failed, says the account: nobody sends it again", r.sent.Refund, r.Payment)
	})
	if err != nil || p.buckets == 0 {
		return err
	}
	orders := make([]int64, len(refunds))
	for i, r := range refunds {
		orders[i] = r.OrderID
	}
	claims, err := p.claimsOf(ctx, orders)
	if err != nil {
		return err
	}
	for _, r := range refunds {
		p.checkRefund(r, claims[r.OrderID])
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
	about := "refund " + r.Payment
	if r.Sale != "" {
		p.checkLabels(about, "the refund of "+r.Payment, r.Labels)
	}
	latest := max(r.At, r.Again, r.RefundedAt, r.sent.At, r.sent.Lease-leaseFor.Milliseconds())
	p.findIf(latest > p.Now().Add(skew).UnixMilli(), "P24", about+" at", "the refund of %s was recorded, sent or made at %s, which is in the future", r.Payment, clock(latest))
	if it == nil {
		p.findIf(r.Sale != "", "P24", about, "a refund of %s is due for order %d, which is no order of this sale", r.Payment, r.OrderID)
		return
	}
	c, _ := readClaim(it)
	p.findIf(r.Sale != "" && (r.User != c.User || len(c.Refunds) < maxClaimRefunds && !slices.Contains(c.Refunds, r.Payment)), "P24", about+" user",
		"%s is to be refunded to %q, but the claim of its order is of %q and does not note it, or is another's", r.Payment, r.User, c.User)
	asks := p.lasting().terms
	isPrice := asks.Price == 0 || r.Amount == c.Count()*asks.Price && r.Currency == asks.Currency
	switch {
	case r.Reason == "unknown-order":
	case isPrice == (r.Reason == "amount") && asks.Extras == "":
		p.find("P24", about, "%d %s of %s is to be refunded because of %q, but the price is %d %s", r.Amount, r.Currency, r.Payment, r.Reason, c.Count()*asks.Price, asks.Currency)
	case r.Reason == cancelled && c.CancelledAt == 0:
		p.find("P37", about, "%s is to be refunded because its order is cancelled, but the order %s is not", r.Payment, c.OrderID)
	case r.Reason == recalled && p.after.sale.RecalledAt == 0:
		p.find("P35", about, "%s is to be refunded because of a recall, but the sale was not recalled", r.Payment)
	case r.Reason == "released" && c.ReleasedAt == 0, r.Reason == "other-payment" && c.PaidAt == 0, isPaidFor(r.Reason) && c.Payment != r.Payment,
		r.Reason == cancelled && c.CancelledAt != r.At:
		p.find("P24", about, "%s is to be refunded because of %q, but that is not so of order %s", r.Payment, r.Reason, c.OrderID)
	}
}

// guardItem is PAYMENT#<provider>#<reference>, PAYMENT: the one fate of a payment.
type guardItem struct {
	Payment  string
	Fate     string // paid or refund-due
	SaleID   string // "" if the order is unknown
	OrderID  int64  // 0 if the payment named none
	Amount   int64
	Currency string
	At       int64
}

func guardKey(payment string) key { return key{"PAYMENT#" + payment, "PAYMENT"} }

var readGuard = reader("guard", func(f *fields, g *guardItem) {
	f.failIf(g.OrderID == 0 && (g.Fate == "paid" || g.SaleID != ""), "orderId is missing")
	f.failIf(g.SaleID == "" && g.Fate == "paid", "saleId is missing")
})

// checkPaid compares the claims of a page with the guards of their payments and with the
// refunds that they note.
func (p *pass) checkPaid(ctx context.Context, claims []Claim) error {
	var keys []key
	for _, c := range claims {
		if c.Payment != "" {
			keys = append(keys, guardKey(c.Payment))
			if c.Money != 0 {
				keys = append(keys, accountKey(c.Payment))
			}
			if p.before.sale.RecalledAt != 0 && !slices.Contains(c.Refunds, c.Payment) {
				keys = append(keys, key{"REFUND#" + p.saleID, c.Payment})
			}
		}
		for _, payment := range c.Refunds {
			keys = append(keys, key{"REFUND#" + p.saleID, payment})
		}
	}
	found, err := p.get(ctx, keys)
	if err != nil {
		return err
	}
	for _, c := range claims {
		for _, payment := range c.Refunds {
			if r, _ := readRefund(found[key{"REFUND#" + p.saleID, payment}]); r.User != c.User || uint64(r.OrderID) != c.orderID {
				p.find("P24", "refund "+payment+" noted", "the claim of %q says that %s is to be refunded, but there is no such refund of its order", c.User, payment)
			}
		}
		if c.Payment == "" && c.PaidAt == 0 && c.CancelledAt == 0 {
			continue
		}
		if r, _ := readRefund(found[key{"REFUND#" + p.saleID, c.Payment}]); c.CancelledAt != 0 {
			p.findIf(r.Reason != cancelled, "P37", "refund "+c.Payment+" cancelled", "the order %s of %q is cancelled and was paid, but %s does not go back because of that",
				c.OrderID, c.User, c.Payment)
		} else if c.PaidAt != 0 && r.Reason != recalled {
			p.open(c)
		}
		if c.Money != 0 {
			isLast := !slices.Contains(c.Refunds, c.Payment)
			p.checkMoney(c.Payment, c.Amount, c.Currency, c.returned, isLast, found[accountKey(c.Payment)])
		}
		it := found[guardKey(c.Payment)]
		if it == nil {
			p.findIf(c.PaidAt != 0, "P24", "guard "+c.Payment, "%s has paid order %s, but has no guard: it may pay another", c.Payment, c.OrderID)
			continue
		}
		g, problem := readGuard(it)
		p.malformed(it, problem)
		if problem == "" && (g.Fate != "paid" || g.SaleID != p.saleID || uint64(g.OrderID) != c.orderID || g.At != c.PaidAt ||
			g.Amount != c.Amount || g.Currency != c.Currency) {
			p.find("P24", "guard "+c.Payment, "%s has paid order %s of %q at %s, %d %s, but its guard says at %s: %s, %d %s, order %d of sale %q",
				c.Payment, c.OrderID, c.User, clock(c.PaidAt), c.Amount, c.Currency, clock(g.At), g.Fate, g.Amount, g.Currency, g.OrderID, g.SaleID)
		}
	}
	return nil
}

// checkRefundGuards does the same with refunds.
func (p *pass) checkRefundGuards(ctx context.Context, refunds []refundItem) error {
	return lookUp(ctx, p, refunds, func(r refundItem) key { return guardKey(r.Payment) }, func(r refundItem, it item) {
		if it == nil {
			p.find("P24", "guard "+r.Payment, "the refund of %s has no guard: the payment may pay an order, too", r.Payment)
			return
		}
		g, problem := readGuard(it)
		p.malformed(it, problem)
		want := guardItem{r.Payment, "refund-due", r.Sale, r.OrderID, r.Amount, r.Currency, r.At}
		if isPaidFor(r.Reason) { // the guard says that the payment has paid its order, and when
			want.Fate, want.At = "paid", g.At
		}
		p.findIf(problem == "" && g != want, "P24", "guard "+r.Payment, "the refund of %d %s for %s and order %d is not what the payment's guard says: %s, %d %s, order %d of sale %q",
			r.Amount, r.Currency, r.Payment, r.OrderID, g.Fate, g.Amount, g.Currency, g.OrderID, g.SaleID)
	})
}

// checkGuards finds the guards of a page, of the sale or of unknown orders, whose payment is
// neither its order's nor to be refunded.
func (p *pass) checkGuards(ctx context.Context, guards []guardItem) error {
	var orders []int64
	for _, g := range guards {
		if g.Fate == "paid" {
			orders = append(orders, g.OrderID)
		}
	}
	claims, err := p.claimsOf(ctx, orders)
	if err != nil {
		return err
	}
	refundOf := func(g guardItem) key { return key{"REFUND#" + g.SaleID, g.Payment} }
	return lookUp(ctx, p, guards, refundOf, func(g guardItem, refund item) {
		if g.Fate != "paid" {
			p.findIf(refund == nil, "P24", "guard "+g.Payment, "%s is to be refunded, says its guard, but there is no refund", g.Payment)
			return
		}
		c, _ := readClaim(claims[g.OrderID])
		p.findIf(c.Payment != g.Payment, "P24", "guard "+g.Payment, "%s has paid order %d, says its guard, but the order is not paid by it", g.Payment, g.OrderID)
	})
}
