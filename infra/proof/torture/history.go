package main

import (
	"fmt"
	"sync"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
)

// span is a period of time.
type span struct{ from, until time.Time }

// refusal is one sold-out answer.
type refusal struct {
	user  string
	keyed bool
	span
}

// history holds all answers to the buyers of one sale and the times of its restocks. It is
// safe for concurrent use.
type history struct {
	mu       sync.Mutex
	claims   map[string]string // claim id by user
	orders   map[string]string // order id by user
	refusals []refusal
	restocks []span
	payments map[string]told   // by provider#reference
	ends     map[string]string // final state of their order by user
	problems []string
}

func newHistory() *history {
	return &history{claims: map[string]string{}, orders: map[string]string{}, payments: map[string]told{}, ends: map[string]string{}}
}

// problem notes a violation.
func (h *history) problem(format string, a ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.note(format, a...)
}

func (h *history) note(format string, a ...any) {
	h.problems = append(h.problems, fmt.Sprintf(format, a...))
}

// accepted notes that a user got a claim and perhaps its order.
func (h *history) accepted(user, saleID string, t client.Claim) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.ClaimID == "" || t.SaleID != saleID || (t.State == "PENDING") == (t.OrderID != "") {
		h.note("%s got %+v about %s", user, t, saleID)
		return
	}
	if before, again := h.claims[user]; again && before != t.ClaimID {
		h.note("%s got two claims, %s and %s (P3)", user, before, t.ClaimID)
	}
	h.claims[user] = t.ClaimID
	if t.OrderID == "" {
		return
	}
	if before, again := h.orders[user]; again && before != t.OrderID {
		h.note("%s got two orders, %s and %s (P7)", user, before, t.OrderID)
	}
	h.orders[user] = t.OrderID
}

func (h *history) holds(user string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.claims[user] != ""
}

func (h *history) refused(r refusal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refusals = append(h.refusals, r)
}

func (h *history) restocked(s span) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.restocks = append(h.restocks, s)
}

const (
	// staleness is the maximum age of the data behind a sold-out answer (P6).
	staleness = 2 * time.Second
	// engineDelay is how long the engine may go on with the work of a killed function.
	engineDelay = 2 * time.Second
)

// wrongRefusals finds the refusals that the table disproves when no request is in progress, by
// its claims and the units that are left. Stock only falls between restocks: if a unit is left, or was claimed
// after a refusal without a restock in between, then it was there at the time of the
// refusal. A claim's acceptedAt is before its commit, so it can be compared with the refusal.
func (h *history) wrongRefusals(claims []books.Claim, left int64) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []string
	own := map[string]books.Claim{}
	for _, c := range claims {
		own[c.User] = c
	}
	for _, r := range h.refusals {
		// A request with a known key is recognised even without stock (P5).
		if c, has := own[r.user]; has && r.keyed && c.AcceptedAt.Add(engineDelay).Before(r.from) {
			found = append(found, fmt.Sprintf("%s held claim %s and got sold-out for the same key (P5)", r.user, c.ClaimID))
		}
		if left > 0 && !h.restockedWithin(r.from.Add(-staleness), time.Now()) {
			found = append(found, fmt.Sprintf("%s got sold-out at %s, but %d units are left (P6)", r.user, r.until.Format(clock), left))
		}
		for _, c := range claims {
			if c.AcceptedAt.After(r.until) && !h.restockedWithin(r.from.Add(-staleness), c.AcceptedAt) {
				found = append(found, fmt.Sprintf("%s got sold-out by %s, but %s got a unit at %s without a restock (P6)",
					r.user, r.until.Format(clock), c.User, c.AcceptedAt.Format(clock)))
				break
			}
		}
	}
	return found
}

const clock = "15:04:05.000"

func (h *history) restockedWithin(from, until time.Time) bool {
	for _, s := range h.restocks {
		if !s.until.Before(from) && !s.from.After(until) {
			return true
		}
	}
	return false
}
