package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"flashsale/infra/kit/books"
)

const (
	// engineDelay is how long the engine may go on with the work of a killed function.
	engineDelay = 2 * time.Second
	clock       = "15:04:05.000"
)

// comparison collects what the table shows to be broken.
type comparison struct {
	*History
	books *books.Sale
	held  map[string]books.Claim // by user
	found []books.Finding
}

func (c *comparison) breaks(promise, format string, a ...any) {
	c.found = append(c.found, books.Finding{Promise: promise, Text: fmt.Sprintf(format, a...)})
}

// Compare compares the answers with the stored sale, in which nothing is in progress, every
// buyer has an answer and nobody else has bought. It returns only what Findings does not have.
func (h *History) Compare(s *books.Sale) []books.Finding {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := &comparison{History: h, books: s, held: map[string]books.Claim{}}
	for _, claim := range s.Claims {
		c.held[claim.User] = claim
	}
	c.stock()
	c.claimed()
	c.refused()
	if h.sale.AsksForPayment {
		c.paid()
	}
	return c.found
}

// stock compares the units with what was asked for and, if every buyer who wanted a unit must
// have one, with the number of buyers.
func (c *comparison) stock() {
	if c.books.Seeded != c.sale.Units {
		c.breaks("P15", "%d units were seeded, but %d were asked for", c.books.Seeded, c.sale.Units)
	}
	if len(c.books.Shards) != c.sale.Shards {
		c.breaks("P2", "%d shards are stored, but %d were asked for", len(c.books.Shards), c.sale.Shards)
	}
	sold, want := int64(0), min(c.sale.Units, c.wanted())
	for _, claim := range c.books.Claims {
		sold += claim.Count()
	}
	// What is left is less than anybody was refused.
	if c.sale.Steady && sold != want && (sold > want || len(c.refusals) == 0 || want-sold >= c.leastRefused()) {
		c.breaks("P1", "%d units were sold, not %d", sold, want)
	}
}

// wanted is how many units the buyers have got, or asked for at most.
func (c *comparison) wanted() (units int64) {
	for _, b := range c.buyers {
		if b.claim != "" {
			units += b.got
		} else {
			units += max(1, b.units)
		}
	}
	return units
}

// leastRefused is the least that anybody asked for and did not get.
func (c *comparison) leastRefused() int64 {
	least := c.refusals[0].units
	for _, r := range c.refusals {
		least = min(least, r.units)
	}
	return least
}

// claimed compares the claims and orders in the answers with those in the table.
func (c *comparison) claimed() {
	for _, user := range slices.Sorted(maps.Keys(c.buyers)) {
		b, is := c.buyers[user], c.held[user]
		if b.claim != "" && b.claim != is.ClaimID {
			c.breaks("P4", "%s got claim %s, but the table has %q", user, b.claim, is.ClaimID)
		}
		if b.claim != "" && is.ClaimID == b.claim && b.got != is.Count() {
			c.breaks("P40", "%s got %d units, but the table has %d", user, b.got, is.Count())
		}
		if b.order != "" && b.order != is.OrderID {
			c.breaks("P7", "%s got order %s, but the table has %q", user, b.order, is.OrderID)
		}
		if b.claim == "" && is.ClaimID != "" {
			c.breaks("P5", "%s holds claim %s but never got it in an answer", user, is.ClaimID)
		}
	}
	for _, claim := range c.books.Claims {
		if c.buyers[claim.User] == nil {
			c.breaks("P12", "%s never ordered but holds claim %s", claim.User, claim.ClaimID)
		}
	}
}

// refused finds the refusals that the table disproves. Stock only falls: if a
// unit is left, or was claimed after a refusal, then it was there at the time of the refusal. A
// claim's acceptedAt is before its commit, so it can be compared with the refusal.
func (c *comparison) refused() {
	var last books.Claim
	for _, claim := range c.books.Claims {
		if claim.AcceptedAt.After(last.AcceptedAt) {
			last = claim
		}
	}
	left := c.books.Stock()
	for _, r := range c.refusals {
		// A request with a known key is recognised even without stock. While something is killed,
		// its first try may be under way when the next one is refused.
		own, has := c.held[r.user]
		if has && r.keyed && (c.sale.Steady || own.AcceptedAt.Add(engineDelay).Before(r.From)) {
			c.breaks("P9", "%s holds claim %s, and the same key got sold-out", r.user, own.ClaimID)
		}
		switch {
		case left >= r.units:
			c.breaks("P6", "%s got %s at %s, but %d units are left", r.user, r.told, r.Until.Format(clock), left)
		case r.units == 1 && last.AcceptedAt.After(r.Until):
			c.breaks("P6", "%s got sold-out by %s, but %s got a unit at %s",
				r.user, r.Until.Format(clock), last.User, last.AcceptedAt.Format(clock))
		}
	}
}

// paid compares the answers to payments and cancellations with the table, in which no order
// is waiting to be paid any more.
func (c *comparison) paid() {
	paid := int64(0)
	for _, claim := range c.books.Claims {
		switch claim.State() {
		case "PAID":
			paid++
			if c.payments[claim.Payment].user != claim.User {
				c.breaks("P25", "the order of %s is paid by %q, which is no payment of it", claim.User, claim.Payment)
			}
		case "CONFIRMED":
			c.breaks("P22", "the order of %s is neither paid nor released", claim.User)
		}
	}
	for reference, told := range c.payments {
		claim, want := c.held[told.user], "paid"
		if reason, due := c.books.Refunds[reference]; due {
			want = "refund-due: " + reason
		}
		if told.outcome != want || (want == "paid") != (claim.Payment == reference) {
			c.breaks("P24", "the payment %s of %s was %q, but is %q, and the order is %s by %q",
				reference, told.user, told.outcome, want, claim.State(), claim.Payment)
		}
	}
	for reference, reason := range c.books.Refunds {
		if _, made := c.payments[reference]; !made {
			c.breaks("P24", "a refund of %s is due (%s), a payment that nobody made", reference, reason)
		}
	}
	for user, b := range c.buyers {
		if is := c.held[user].State(); b.end != "" && is != b.end {
			c.breaks("P20", "the order of %s was shown as %s, but is %s", user, b.end, is)
		}
	}
	if paid+c.books.Stock() != c.books.Seeded {
		c.breaks("P23", "%d units are paid and %d are left, of %d: some are neither or both", paid, c.books.Stock(), c.books.Seeded)
	}
}

// CompareOrder checks P7 in a sale that was read at that time: an id contains the second of
// its confirmation, and ids rise with that time. A client knows only that an order was
// confirmed between its acceptance and the moment it was seen confirmed. If two such spans do
// not overlap, the later order must have the larger id.
func (h *History) CompareOrder(s *books.Sale, readAt time.Time) (found []books.Finding) {
	h.mu.Lock()
	defer h.mu.Unlock()
	breaks := func(format string, a ...any) {
		found = append(found, books.Finding{Promise: "P7", Text: fmt.Sprintf(format, a...)})
	}
	type confirmation struct {
		id uint64
		Span
	}
	var all []confirmation
	for _, claim := range s.Claims {
		id, err := strconv.ParseUint(claim.OrderID, 10, 64)
		if err != nil {
			continue // pending, which the recount reports
		}
		c := confirmation{id, Span{claim.AcceptedAt, readAt}}
		if b := h.buyers[h.orders[claim.OrderID]]; b != nil {
			c.Until = b.orderedAt
		}
		if at := claim.ConfirmedAt; at.Before(c.From.Truncate(time.Second)) || at.After(c.Until) {
			breaks("order %s of %s has the time %s, but was confirmed between %s and %s", claim.OrderID, claim.User,
				at.Format(time.TimeOnly), c.From.UTC().Format(time.TimeOnly), c.Until.UTC().Format(time.TimeOnly))
		}
		all = append(all, c)
	}
	// From the largest id down, keep the order that was confirmed first of those with a larger id.
	slices.SortFunc(all, func(a, b confirmation) int { return cmp.Compare(b.id, a.id) })
	for i, first := 0, 0; i < len(all); i++ {
		if all[i].From.After(all[first].Until) {
			breaks("order %d is smaller than %d, which was confirmed before it was accepted", all[i].id, all[first].id)
		}
		if all[i].Until.Before(all[first].Until) {
			first = i
		}
	}
	return found
}
