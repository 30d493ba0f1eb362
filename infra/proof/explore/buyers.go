package explore

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"flashsale/infra/proof/harness"
)

// runBuyer runs one buyer's actions from the draft.
func (m *runningSale) runBuyer(b buyer) {
	m.n.wait(m.id+" "+b.user, b.first)
	for i, c := range b.clicks {
		var both sync.WaitGroup
		both.Go(func() { m.click(b.user, c.key, c.units, fmt.Sprint(m.id, " ", b.user, " ", i)) })
		if c.twice {
			both.Go(func() { m.click(b.user, c.key, c.units, fmt.Sprint(m.id, " ", b.user, " ", i, " again")) })
		}
		both.Wait()
		m.n.wait(m.id+" "+b.user, c.pause)
		if c.asks {
			m.queryOrder(b.user)
			m.queryPage(b.user)
		}
	}
}

// click sends one purchase and judges the answer.
func (m *runningSale) click(user, key string, units int64, name string) harness.Reply {
	m.n.wait(name, time.Microsecond)
	sent := time.Now()
	e := m.pools[harness.Purchasing].take(name)
	defer m.pools[harness.Purchasing].give(e)
	return m.clickIn(e, user, key, units, sent)
}

// clickIn sends a purchase to that environment.
func (m *runningSale) clickIn(e *harness.Environment, user, key string, units int64, sent time.Time) harness.Reply {
	many := ""
	if units > 0 {
		many = fmt.Sprintf(", %d units", units)
	}
	m.write("%s clicks in %s, key %q%s, in purchase %d #%d", user, m.id, key, many, e.Number, e.Invocation)
	began := time.Now()
	r, ok := e.Buy(m.id, user, key, units)
	asked := e.ClaimIDs
	m.write("%s is told %t %d %s %s", user, ok, r.Status, r.Code, r.Claim.ClaimID)
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	if ok {
		m.checkAnswer(e, user, key, units, r, sent, began)
	}
	if ok && r.Refuses() {
		m.watch.recordRefusal(user, asked)
	}
	return r
}

// checkAnswer checks the answer of a purchase against the state of the sale during the
// request. Both locks are held.
func (m *runningSale) checkAnswer(e *harness.Environment, user, key string, units int64, r harness.Reply, sent, began time.Time) {
	w, now := m.watch, time.Now()
	// An answer from memory may be as old as P6 allows, counted from the start of the
	// invocation.
	from := began.Add(-harness.RefusalAge)
	claim := w.claims[user]
	holds := claim != nil && claim.visibleToAll().Before(sent)
	// Where reads lag, one without a key may miss any claim.
	mustKnow := key != "" || m.simulation.draft.lag == 0 && e.MustFindClaim(key)
	switch {
	case m.draft.grouped && r.Code == "already-ordered" && r.Claim.ClaimID == "":
		if other := w.sales[r.SaleID]; other == nil || other == w || other.claims[user] == nil || claim != nil {
			w.violate("P34: %s was told in %s of an order in %q, the table holds %+v", user, m.id, r.SaleID, claim)
		}
	case r.Status == 202 || r.Code == "already-ordered":
		if claim == nil || claim.id != r.Claim.ClaimID {
			w.violate("P4: %s was told of claim %q, the table holds %+v", user, r.Claim.ClaimID, claim)
			return
		}
		isRepeat := claim.key == key && claim.units == max(1, units)
		if max(1, r.Claim.Units) != claim.units {
			w.violate("P40: %s was told of %d units, the claim has %d", user, r.Claim.Units, claim.units)
		}
		if r.Status == 202 && (!isRepeat || key == "" && claim.isBought) {
			w.violate("P3: %s was told 202 with key %q for %d units; the purchase had key %q for %d, told %t", user, key, units, claim.key, claim.units, claim.isBought)
		}
		if claim.isBought = claim.isBought || r.Status == 202; r.Status != 202 && key != "" && isRepeat && !r.Claim.Released() {
			w.violate("P9: %s repeated a purchase and was told %s", user, r.Code)
		}
		// Whose sale asks for no payment, and who has paid, is answered from memory for a minute.
		remembered := time.Duration(0)
		if m.draft.payWithin == 0 || claim.isPaid() {
			remembered = time.Minute
		}
		if r.Status == 202 && claim.isReleased(sent.Add(-remembered)) {
			w.violate("P9: %s was told 202 for %s, which was released %v before", user, claim.id, sent.Sub(claim.releasedAt))
		}
		if r.Status == 202 && key != "" {
			if first, again := m.bodies[fmt.Sprint(user, key, units)]; again && first != r.Body {
				w.violate("P9: %s was told %s, then %s", user, first, r.Body)
			}
			m.bodies[fmt.Sprint(user, key, units)] = r.Body
		}
	case r.Code == "sold-out":
		if !w.wasEmpty(from, now) {
			w.violate("P6: %s was told sold-out; there were always units from %v on, %d now", user, from.Sub(m.began), w.total)
		}
		if holds && mustKnow {
			w.violate("P5: %s held %s since %v and was told sold-out at a repeat, key %q", user, claim.id, claim.at.Sub(m.began), key)
		}
		if w.draw != nil && claim == nil && len(w.draw.calls) > 0 && w.draw.callOf[user] == len(w.draw.calls) {
			w.violate("P30: %s is called, and was told sold-out", user)
		}
	case r.Code == "not-enough":
		w.counts["not-enough"]++
		if least := fewest(w.left, from, now); r.Left < 1 || r.Left >= units || least > r.Left {
			w.violate("P6: %s asked for %d units and was told that %d are left; there were always %d from %v on", user, units, r.Left, least, from.Sub(m.began))
		}
		if !slices.ContainsFunc(w.left, func(l level) bool { return l.units == r.Left }) {
			w.violate("P6: %s was told that %d units are left, which were never left", user, r.Left)
		}
		if holds && mustKnow {
			w.violate("P5: %s held %s since %v and was told not-enough at a repeat, key %q", user, claim.id, claim.at.Sub(m.began), key)
		}
	case w.draw != nil && (r.Code == "not-your-turn" || r.Code == "turn-over"):
		w.checkTurnRefusal(user, r.Code, began, now)
		if holds && mustKnow {
			w.violate("P5: %s held %s and was told %s at a repeat, key %q", user, claim.id, r.Code, key)
		}
	case r.Code == "busy":
	case r.Code == "recalled" || r.Code == "sale-paused" || r.Code == "sale-not-open" || r.Code == "sale-closed" || r.Code == "sale-not-found":
		if !w.wasShut(r.Code, from, sent, now) {
			w.violate("P14: %s was told %s, which it was not from %v on", user, r.Code, from.Sub(m.began))
		}
		if holds && (key != "" && r.Code != "sale-not-found" || (r.Code == "sale-closed" || r.Code == "recalled") && mustKnow) {
			w.violate("P5: %s held %s and was told %s at a repeat, key %q", user, claim.id, r.Code, key)
		}
	default:
		w.violate("%s was told %d %q %s", user, r.Status, r.Code, r.Body)
	}
}

// queryOrder asks for the state of the user's own order.
func (m *runningSale) queryOrder(user string) {
	sent := time.Now()
	e := m.pools[harness.Querying].take(m.id + " " + user)
	r, ok := e.As(user, m.id, "GET /sales/{saleId}/orders/me")
	m.pools[harness.Querying].give(e)
	m.write("%s looks: %t %d %s %+v", user, ok, r.Status, r.Code, r.Claim)
	if !ok || r.Code == "busy" {
		return
	}
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	claim := m.watch.claims[user]
	switch {
	case r.Status == 404:
		if r.Code == "order-not-found" && claim != nil && claim.visibleToAll().Before(sent) {
			m.watch.violate("P4: %s held %s and was told that there is no order", user, claim.id)
		}
	case r.Status != 200 || claim == nil || claim.id != r.Claim.ClaimID:
		m.watch.violate("P4: %s was told %d %s, the table holds %+v", user, r.Status, r.Body, claim)
	case r.Claim.OrderID != "" && claim.orderID != r.Claim.OrderID:
		m.watch.violate("P7: %s was told of order %s, the table holds %s", user, r.Claim.OrderID, claim.orderID)
	case r.Claim.State == "CONFIRMED" && r.Claim.PayBy != "" && r.Claim.PayBy < harness.Stamp(m.watch.payUntilSince(sent.Add(-harness.RefusalAge))):
		m.watch.violate("P38: %s is to pay by %s, was told at %v, after more time was given until %v", user, r.Claim.PayBy, sent.Sub(m.began), m.watch.payUntil)
	}
}

// queryPage looks at the sale page.
func (m *runningSale) queryPage(user string) {
	e := m.pools[harness.Querying].take(m.id + " " + user)
	defer m.pools[harness.Querying].give(e)
	began := time.Now()
	r, ok := e.As("", m.id, "GET /sales/{saleId}")
	m.write("%s visits: %t %d %s", user, ok, r.Status, r.Body)
	if !ok || r.Status != 200 {
		return
	}
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	// The count is cached for another second.
	if r.Remaining <= 0 && !m.watch.wasEmpty(began.Add(-harness.RefusalAge-time.Second), time.Now()) {
		m.watch.violate("P6: the sale page says %d units; there were always some", r.Remaining)
	}
}
