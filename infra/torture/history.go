package main

import (
	"fmt"
	"sync"
	"time"

	"flashsale/infra/books"
	"flashsale/infra/client"
)

// span is a stretch of time.
type span struct{ from, until time.Time }

// refusal is one "sold out".
type refusal struct {
	user  string
	keyed bool
	span
}

// history is everything that the buyers of one sale were told, and when stock
// was added to it. Its methods may be called by several goroutines at once.
type history struct {
	mu       sync.Mutex
	claims   map[string]string // claim id by user
	orders   map[string]string // order id by user
	refusals []refusal
	restocks []span
	problems []string
}

func newHistory() *history { return &history{claims: map[string]string{}, orders: map[string]string{}} }

// problem notes a violation.
func (h *history) problem(format string, a ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.note(format, a...)
}

func (h *history) note(format string, a ...any) {
	h.problems = append(h.problems, fmt.Sprintf(format, a...))
}

// accepted notes that a user was told of a claim, and perhaps of its order.
func (h *history) accepted(user, saleID string, t client.Claim) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.ClaimID == "" || t.SaleID != saleID || (t.State == "CONFIRMED") != (t.OrderID != "") {
		h.note("%s was told %+v about %s", user, t, saleID)
		return
	}
	if before, again := h.claims[user]; again && before != t.ClaimID {
		h.note("%s was told of two claims, %s and %s (P3)", user, before, t.ClaimID)
	}
	h.claims[user] = t.ClaimID
	if t.OrderID == "" {
		return
	}
	if before, again := h.orders[user]; again && before != t.OrderID {
		h.note("%s was told of two orders, %s and %s (P7)", user, before, t.OrderID)
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
	// staleness is how old the knowledge behind a "sold out" may be (P6).
	staleness = 2 * time.Second
	// afterlife is how long the work of a function that was killed may still
	// go on in the engine.
	afterlife = 2 * time.Second
)

// untrue finds refusals that a quiet sale's table proves wrong, with its claims
// and the units that are left. Stock only falls between restocks: a unit that
// is left, or was claimed after a refusal, with no restock that may have
// brought it, was there when the buyer was told otherwise. A claim's acceptedAt
// lies before its commit, so it can be held against the refusal.
func (h *history) untrue(claims []books.Claim, left int64) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []string
	own := map[string]books.Claim{}
	for _, c := range claims {
		own[c.User] = c
	}
	for _, r := range h.refusals {
		// A buyer with a key is recognised whatever the stock (P5).
		if c, has := own[r.user]; has && r.keyed && c.AcceptedAt.Add(afterlife).Before(r.from) {
			found = append(found, fmt.Sprintf("%s held claim %s and was told sold out to the same key (P5)", r.user, c.ClaimID))
		}
		if left > 0 && !h.restockedWithin(r.from.Add(-staleness), time.Now()) {
			found = append(found, fmt.Sprintf("%s was told sold out at %s and %d units are left (P6)", r.user, r.until.Format(clock), left))
		}
		for _, c := range claims {
			if c.AcceptedAt.After(r.until) && !h.restockedWithin(r.from.Add(-staleness), c.AcceptedAt) {
				found = append(found, fmt.Sprintf("%s was told sold out until %s, but %s got a unit at %s without a restock (P6)",
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
