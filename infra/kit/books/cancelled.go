package books

import (
	"context"
	"fmt"
	"strconv"
)

// cancelled is the reason of a refund of a payment that has paid an order that an operator has cancelled.
const cancelled = "cancelled"

// cancelItem is CANCELLED#<sale>, <order>: who has cancelled an order, and what became of its unit.
type cancelItem struct {
	author
	Order, ID, Call string // the call is the attempt that wrote it
	At              int64
	Saw, Unit       string
}

var readCancelled = reader("cancelled order", func(*fields, *cancelItem) {})

// isPaidFor reports whether a payment with a refund for that reason has paid its order.
func isPaidFor(reason string) bool { return reason == recalled || reason == cancelled }

// readCancelledOrders compares what is stored of cancelled orders with their claims, one by one.
func (p *pass) readCancelledOrders(ctx context.Context) error {
	return p.partition(ctx, "CANCELLED#"+p.saleID, 0, func(items []item) error {
		var all []cancelItem
		var orders []int64
		for _, it := range items {
			c, problem := readCancelled(it)
			if p.malformed(it, problem); problem != "" {
				continue
			}
			p.cancelled++
			id, _ := strconv.ParseInt(c.Order, 10, 64)
			all, orders = append(all, c), append(orders, id)
		}
		if p.buckets == 0 || p.before.sale.Archive != "" {
			return nil
		}
		claims, err := p.claimsOf(ctx, orders)
		for i, c := range all {
			held, _ := readClaim(claims[orders[i]])
			want := cancelItem{author: c.author, Order: held.OrderID, ID: c.ID, Call: c.Call, At: max(held.ReleasedAt, held.CancelledAt), Saw: "CONFIRMED", Unit: held.Unit}
			if held.PaidAt != 0 {
				want.Saw = "PAID"
			}
			p.findIf(err == nil && c != want, "P37", "cancelled "+c.Order, "order %s was cancelled at %s when it was %s, its unit %s, but its claim of %q says at %s, %s, %q",
				c.Order, clock(c.At), c.Saw, c.Unit, held.User, clock(want.At), want.Saw, want.Unit)
		}
		return err
	})
}

// takeCancelled counts a claim that an operator has cancelled and checks it.
func (p *pass) takeCancelled(c Claim) {
	if c.Unit == "" {
		return
	}
	if p.cancelledClaims++; c.Unit == "back" && c.Shard < p.n {
		p.broughtBack[c.Shard] += c.Count()
	}
	about := fmt.Sprintf("claim %d %s cancelled", c.Bucket, c.User)
	p.findIf(c.CancelledAt == 0 && c.ReleasedBy != "operator", "P37", about, "the claim of %q has a unit that is %s, but no operator has cancelled it", c.User, c.Unit)
	p.findIf(c.CancelledAt != 0 && (c.CancelledAt < c.PaidAt-skew.Milliseconds() || c.CancelledAt > p.Now().Add(skew).UnixMilli()), "P37", about+" at",
		"the claim of %q was cancelled at %s, and paid at %s", c.User, clock(c.CancelledAt), clock(c.PaidAt))
}

// judgeCancelled compares how many orders the sale says are cancelled with those that are.
func (p *pass) judgeCancelled(h *header) {
	low, high := p.before.sale.Cancelled, h.sale.Cancelled
	p.findIf(h.hasSale && (p.cancelled < low || p.cancelled > high), "P37", "sale cancelled",
		"the sale counts %d to %d cancelled orders, but %d are: nobody can say who cancelled the others", low, high, p.cancelled)
	p.findIf(h.sale.Archive == "" && low == high && p.cancelledClaims != p.cancelled, "P37", "claims cancelled",
		"%d claims are cancelled by an operator, but of %d it is stored by whom", p.cancelledClaims, p.cancelled)
}
