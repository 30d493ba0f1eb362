// Package verdict says whether a sale kept its promises: it compares the answers that its
// buyers got with each other and with the recounted table.
//
// It knows the documented API and the documented items, and none of the code behind them.
package verdict

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
)

// Span is a period of time, such as that between a request and its answer.
type Span struct{ From, Until time.Time }

// Sale is what is known of a sale before its buyers come. It is open, and nobody else has ever bought in it.
type Sale struct {
	Units  int64 // seeded, with what is added later; 0 if unknown
	Shards int
	// Steady: nothing is killed, and no units are added or come back. So a unit is left
	// unsold only if every buyer has one.
	Steady bool
	// AsksForPayment: units that are not paid for come back.
	AsksForPayment bool
}

// History holds all answers to the buyers of one sale. It is safe for concurrent use.
type History struct {
	sale Sale

	mu       sync.Mutex
	buyers   map[string]*buyer
	claims   map[string]string // the buyer of a claim
	sold     int64             // the units of all claims
	orders   map[string]string // the buyer of an order
	refusals []refusal
	payments map[string]payment
	found    []books.Finding
}

// buyer is what one buyer was told.
type buyer struct {
	claim     string
	claimedAt time.Time // when the claim was first in an answer
	order     string
	orderedAt time.Time // when the order was first in an answer
	accepted  int
	first     client.Answer // the first acceptance
	end       string        // final state of the order
	units     int64         // the most that the buyer has asked for; got is what the claim has
	got       int64
}

// refusal is one sold-out or not-enough answer.
type refusal struct {
	user  string
	told  client.Outcome
	units int64 // that were asked for
	keyed bool
	Span
}

// payment is what the provider of a payment was told.
type payment struct{ user, outcome string }

// New begins the history of a sale.
func New(s Sale) *History {
	return &History{
		sale: s, buyers: map[string]*buyer{}, claims: map[string]string{}, orders: map[string]string{}, payments: map[string]payment{},
	}
}

// Report notes a broken promise that only the caller can see.
func (h *History) Report(promise, format string, a ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.breaks(promise, format, a...)
}

func (h *History) breaks(promise, format string, a ...any) {
	h.found = append(h.found, books.Finding{Promise: promise, Text: fmt.Sprintf(format, a...)})
}

func (h *History) buyer(user string) *buyer {
	if h.buyers[user] == nil {
		h.buyers[user] = &buyer{}
	}
	return h.buyers[user]
}

// Unanswered notes that a buyer got no final answer to a click.
func (h *History) Unanswered(user string, why any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.buyer(user)
	h.breaks("P5", "a click of %s has no answer: %v", user, why)
}

// Clicked notes the final answer to a click and reports whether it is an acceptance after
// the buyer's first. All clicks of a buyer with a key have the same one.
func (h *History) Clicked(user string, keyed bool, at Span, o client.Outcome, a client.Answer) (again bool) {
	return h.Asks(user, 1, keyed, at, o, a)
}

// Asks is Clicked of a click that asks for so many units.
func (h *History) Asks(user string, units int64, keyed bool, at Span, o client.Outcome, a client.Answer) (again bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.buyer(user)
	b.units = max(b.units, units)
	switch {
	case o == client.Accepted:
		if b.accepted++; b.accepted == 1 {
			b.first = client.Answer{Status: a.Status, Body: a.Body}
		}
		again = b.accepted > 1
		switch {
		case again && !keyed:
			h.breaks("P9", "%s sent no key and %d clicks were accepted", user, b.accepted)
		case again && !bytes.Equal(a.Body, b.first.Body):
			h.breaks("P9", "%s got two different answers to one key: %s and %s", user, b.first, a)
		}
		h.told(user, at, a.Claim)
	case o == client.AlreadyOrdered:
		if keyed && a.Claim.State != "EXPIRED" && a.Claim.State != "CANCELLED" {
			h.breaks("P9", "%s repeated a click with a key and got %s", user, a)
		}
		h.told(user, at, a.Claim)
	case o == client.SoldOut:
		h.refusals = append(h.refusals, refusal{user, o, units, keyed, at})
	case o == client.NotEnough:
		if a.Left >= units {
			h.breaks("P6", "%s asked for %d units and was refused, but %d were left", user, units, a.Left)
		}
		h.refusals = append(h.refusals, refusal{user, o, units, false, at})
	default:
		h.breaks("P5", "a click of %s got the answer %s", user, a)
	}
	return again
}

// Asked notes an answer to a buyer who asked for the own order.
func (h *History) Asked(user string, at Span, o client.Outcome, a client.Answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.buyer(user)
	switch o {
	case client.Pending, client.Confirmed:
		h.told(user, at, a.Claim)
		h.ended(user, a.Claim.State)
	case client.NoOrder:
		if b.claim != "" && !at.From.Before(b.claimedAt) {
			h.breaks("P4", "%s got claim %s and later order-not-found", user, b.claim)
		}
	default:
		if o == client.Wrong || o == client.Failed || o == client.Unauthorized {
			h.breaks("P8", "%s asked for the order and got %s", user, a)
		}
	}
}

// told notes a claim in an answer, and its order if that has one.
func (h *History) told(user string, at Span, c client.Claim) {
	b := h.buyer(user)
	switch other, taken := h.claims[c.ClaimID]; {
	case b.claim != "" && b.claim != c.ClaimID:
		h.breaks("P3", "%s got two claims, %s and %s", user, b.claim, c.ClaimID)
	case b.claim == "":
		if taken && other != user {
			h.breaks("P3", "%s and %s got the same claim %s", other, user, c.ClaimID)
		}
		b.claim, b.claimedAt, h.claims[c.ClaimID], b.got = c.ClaimID, at.Until, user, c.Count()
		before := h.sold
		h.sold += c.Count()
		if h.sale.Units > 0 && !h.sale.AsksForPayment && before <= h.sale.Units && h.sold > h.sale.Units {
			h.breaks("P1", "claims of more than %d units were given for %d units", h.sale.Units, h.sale.Units)
		}
	}
	switch other, taken := h.orders[c.OrderID]; {
	case c.OrderID == "":
	case b.order != "" && b.order != c.OrderID:
		h.breaks("P7", "%s got two orders, %s and %s", user, b.order, c.OrderID)
	case b.order == "":
		if taken && other != user {
			h.breaks("P7", "%s and %s got the same order %s", other, user, c.OrderID)
		}
		b.order, b.orderedAt, h.orders[c.OrderID] = c.OrderID, at.Until, user
	}
}

// Ended notes the state in which a buyer was shown the own order. In a sale that asks for
// payment all but the first two are final.
func (h *History) Ended(user, state string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended(user, state)
}

func (h *History) ended(user, state string) {
	if !h.sale.AsksForPayment || state == "" || state == "PENDING" || state == "CONFIRMED" {
		return
	}
	b := h.buyer(user)
	if b.end != "" && b.end != state {
		h.breaks("P20", "the order of %s was %s and later %s", user, b.end, state)
	}
	b.end = state
}

// Paid notes what the provider of a payment was told. Each repeat must be told the same.
func (h *History) Paid(user, reference, outcome string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if before, again := h.payments[reference]; again && before.outcome != outcome {
		h.breaks("P24", "the payment %s of %s was %q and later %q", reference, user, before.outcome, outcome)
	}
	h.payments[reference] = payment{user, outcome}
}

// Holds reports whether a buyer was given a claim.
func (h *History) Holds(user string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.buyers[user] != nil && h.buyers[user].claim != ""
}

// Winners returns how many buyers were given a claim.
func (h *History) Winners() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.claims)
}

// Findings returns what the answers alone show to be broken.
func (h *History) Findings() []books.Finding {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.found[:len(h.found):len(h.found)]
}
