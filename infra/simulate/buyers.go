package simulate

import (
	"fmt"
	"sync"
	"time"
)

// shop runs one buyer's actions from the draft.
func (m *selling) shop(b buyer) {
	m.n.wait(m.id+" "+b.user, b.first)
	for i, c := range b.clicks {
		var both sync.WaitGroup
		both.Go(func() { m.click(b.user, c.key, fmt.Sprint(m.id, " ", b.user, " ", i)) })
		if c.twice {
			both.Go(func() { m.click(b.user, c.key, fmt.Sprint(m.id, " ", b.user, " ", i, " again")) })
		}
		both.Wait()
		m.n.wait(m.id+" "+b.user, c.pause)
		if c.asks {
			m.look(b.user)
			m.visit(b.user)
		}
	}
}

// click sends one purchase and judges the answer.
func (m *selling) click(user, key, name string) reply {
	m.n.wait(name, time.Microsecond)
	call := time.Now()
	e := m.pools[purchasing].take(name)
	defer m.pools[purchasing].give(e)
	return m.clickIn(e, user, key, call)
}

// clickIn sends a purchase to that environment.
func (m *selling) clickIn(e *environment, user, key string, call time.Time) reply {
	m.write("%s clicks in %s, key %q, in purchase %d #%d", user, m.id, key, e.number, e.invocation)
	began := time.Now()
	r, took, ok := e.buy(m.id, user, key)
	asked := e.asked
	m.inTime(purchasing, took)
	m.write("%s is told %t %d %s %s", user, ok, r.status, r.code, r.claim.ClaimID)
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	known := key
	if r.claim.released() {
		known = "" // even the repeat of the purchase is told of the claim's state
	}
	m.history.Attempts = append(m.history.Attempts, Attempt{
		User: user, Key: known, Call: int64(call.Sub(m.began)), Return: m.since(), Answer: answerOf(r), Claim: r.claim.ClaimID,
	})
	if ok {
		m.judge(e, user, key, r, call, began)
	}
	if ok && r.refuses() {
		m.watch.refuse(user, asked)
	}
	return r
}

// judge checks the answer of a purchase against the state of the sale during the
// request. Both locks are held.
func (m *selling) judge(e *environment, user, key string, r reply, call, began time.Time) {
	w, now := m.watch, time.Now()
	// An answer from memory may be as old as P6 allows, counted from the start of the
	// invocation.
	from := began.Add(-remembered)
	claim := w.claims[user]
	holds := claim != nil && claim.shown().Before(call)
	// Where reads lag, one without a key may miss any claim.
	mustKnow := key != "" || m.simulation.draft.lag == 0 && e.mustKnow(key)
	switch {
	case r.status == 202 || r.code == "already-ordered":
		if claim == nil || claim.id != r.claim.ClaimID {
			w.violate("P4: %s was told of claim %q, the table holds %+v", user, r.claim.ClaimID, claim)
			return
		}
		if r.status == 202 && claim.isReleased(call) {
			w.violate("P9: %s was told 202 for %s, which was released %v before", user, claim.id, call.Sub(claim.releasedAt))
		}
		if r.status == 202 && key != "" {
			if first, again := m.bodies[user+key]; again && first != r.body {
				w.violate("P9: %s was told %s, then %s", user, first, r.body)
			}
			m.bodies[user+key] = r.body
		}
	case r.code == "sold-out":
		if !w.wasEmpty(from, now) {
			w.violate("P6: %s was told sold-out; there were always units from %v on, %d now", user, from.Sub(m.began), w.total)
		}
		if holds && mustKnow {
			w.violate("P5: %s held %s since %v and was told sold-out at a repeat, key %q", user, claim.id, claim.at.Sub(m.began), key)
		}
	case r.code == "busy":
	case r.code == "sale-paused" || r.code == "sale-not-open" || r.code == "sale-closed" || r.code == "sale-not-found":
		if !w.wasShut(r.code, from, call, now) {
			w.violate("P14: %s was told %s, which it was not from %v on", user, r.code, from.Sub(m.began))
		}
		if holds && (key != "" && r.code != "sale-not-found" || r.code == "sale-closed" && mustKnow) {
			w.violate("P5: %s held %s and was told %s at a repeat, key %q", user, claim.id, r.code, key)
		}
	default:
		w.violate("%s was told %d %q %s", user, r.status, r.code, r.body)
	}
}

func answerOf(r reply) Answer {
	switch {
	case r.status == 202:
		return Bought
	case r.code == "already-ordered":
		return Already
	case r.code == "sold-out":
		return SoldOut
	}
	return Unknown
}

// look asks for the state of the user's own order.
func (m *selling) look(user string) {
	call := time.Now()
	e := m.pools[querying].take(m.id + " " + user)
	r, took, ok := e.status(m.id, user)
	m.inTime(querying, took)
	m.pools[querying].give(e)
	m.write("%s looks: %t %d %s %+v", user, ok, r.status, r.code, r.claim)
	if !ok || r.code == "busy" {
		return
	}
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	claim := m.watch.claims[user]
	switch {
	case r.status == 404:
		if r.code == "order-not-found" && claim != nil && claim.shown().Before(call) {
			m.watch.violate("P4: %s held %s and was told that there is no order", user, claim.id)
		}
	case r.status != 200 || claim == nil || claim.id != r.claim.ClaimID:
		m.watch.violate("P4: %s was told %d %s, the table holds %+v", user, r.status, r.body, claim)
	case r.claim.OrderID != "" && claim.orderID != r.claim.OrderID:
		m.watch.violate("P7: %s was told of order %s, the table holds %s", user, r.claim.OrderID, claim.orderID)
	}
}

// visit looks at the sale page.
func (m *selling) visit(user string) {
	e := m.pools[querying].take(m.id + " " + user)
	defer m.pools[querying].give(e)
	m.visitIn(e, user)
}

// visitIn asks that environment for the sale page.
func (m *selling) visitIn(e *environment, user string) {
	began := time.Now()
	r, took, ok := e.salePage(m.id)
	m.inTime(querying, took)
	m.write("%s visits: %t %d %s", user, ok, r.status, r.body)
	if !ok || r.status != 200 {
		return
	}
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	// The count is cached for another second.
	if r.page.Remaining <= 0 && !m.watch.wasEmpty(began.Add(-remembered-time.Second), time.Now()) {
		m.watch.violate("P6: the sale page says %d units; there were always some", r.page.Remaining)
	}
}
