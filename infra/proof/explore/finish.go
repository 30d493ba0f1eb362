package explore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/proof/harness"
	"flashsale/shared/ledger"
)

// finishAndCheck stops the faults. Frozen environments are used again, all requests are
// repeated, new buyers try to get the rest, and then everything that the promises say of
// a sale without requests in progress is checked.
func (m *simulation) finishAndCheck() {
	if m.sending != nil && m.n.random() < 0.2 {
		m.sending.paused.Store(true)
	}
	m.n.stopFaults()
	m.n.wait("director", 10*time.Second) // late requests apply
	m.applyLateWrites()
	m.checkUnfrozen()
	for _, s := range m.sales {
		s.finishDraw()
		for _, b := range s.draft.buyers {
			s.buyUntilAnswered(b.user, b.clicks[0].key, b.clicks[0].units)
		}
		s.probe()
	}
	m.awaitOrders()
	for _, s := range m.sales {
		s.finishRecall()
	}
	for _, s := range m.sales {
		s.finishPayments()
	}
	if m.sending != nil {
		m.sending.finish()
	}
	for _, s := range m.sales {
		m.n.mu.Lock()
		s.checkMoney(time.Time{})
		m.n.mu.Unlock()
	}
	for _, s := range m.sales {
		b := harness.ReadBooks(m.world.DB, s.id)
		for _, text := range b.Recount(books.AtOnce) {
			m.violate("%s: %s", s.id, text)
		}
		s.checkTable(b)
		s.checkChanges()
	}
	m.endDraws()
	m.checkDeadLetters()
	m.replay()
	for _, s := range m.sales {
		s.checkDrained()
	}
}

// checkUnfrozen changes every sale while some environments are frozen, and then sends them
// requests: their answers must not be from before (P5, P6, P14).
func (m *simulation) checkUnfrozen() {
	var until time.Time
	thawed := slices.Concat(m.pools[harness.Purchasing].frozen, m.pools[harness.Querying].frozen)
	for _, f := range thawed {
		until = slices.MaxFunc([]time.Time{until, f.until}, time.Time.Compare)
	}
	if until.IsZero() {
		return
	}
	for _, s := range m.sales {
		if units := s.draft.shards + len(thawed); !harness.ReadBooks(m.world.DB, s.id).Recalled {
			s.command(command{units: units, again: -1}, fmt.Sprintf(`{"action":"add","saleId":%q,"seedId":"thaw","stock":%d}`, s.id, units), false)
		}
	}
	m.n.wait("director", max(harness.RefusalAge+time.Second, time.Until(until)))
	for i := range thawed {
		for _, s := range m.sales {
			s.click(fmt.Sprint("thaw-", i), "", 0, "thaw")
			s.queryPage("somebody")
		}
	}
}

// buyUntilAnswered retries until there is a definite answer. Without faults, only
// transactions in flight can keep a buyer waiting (P5).
func (m *runningSale) buyUntilAnswered(user, key string, units int64) harness.Reply {
	for range 5 {
		if r := m.click(user, key, units, m.id+" "+user+" insists"); r.Code != "busy" && r.Status != 0 {
			return r
		}
		m.n.wait(user, time.Second)
	}
	m.violate("P5: %s gets no answer although nothing is wrong", user)
	return harness.Reply{}
}

// probe sends new buyers: while there are units and the sale is open each must get one,
// and afterwards each must get the right refusal (P6).
func (m *runningSale) probe() {
	for i := range 3 {
		m.n.mu.Lock()
		left := m.watch.total
		m.n.mu.Unlock()
		user := fmt.Sprintf("probe-%d", i)
		if m.draft.grouped {
			user += m.id
		}
		r := m.buyUntilAnswered(user, "", int64(m.draft.maxPerOrder))
		// Nobody else acts, but an environment may know what was left before others bought.
		for range m.draft.maxPerOrder {
			if r.Code == "not-enough" {
				r = m.buyUntilAnswered(user, "", r.Left)
			}
		}
		if left > 0 && r.Code == "sold-out" && m.draft.payWithin > 0 {
			// Units that are back for less than two seconds may be unknown.
			m.n.wait(user, 2*time.Second)
			r = m.buyUntilAnswered(user, "", 0)
		}
		shut := r.Code == "sale-closed" || r.Code == "sale-paused" || r.Code == "sale-not-open" || r.Code == "recalled" ||
			m.draft.draw != nil && r.Code == "not-your-turn"
		if left > 0 && r.Status != 202 && !shut {
			m.violate("P6: %d units are left, and %s is told %d %s", left, user, r.Status, r.Code)
		}
		m.n.wait(user, 3*time.Second)
	}
}

// finishRecall waits until the recall of a sale is complete and its units are back (P35). What became of
// its orders, all of which have been confirmed before, is in the recount.
func (m *runningSale) finishRecall() {
	m.await(5, "P35: the recall is complete", func(b *harness.Books) bool {
		return !b.Recalling && (!b.Recalled || b.Waiting() == 0)
	})
}

// await waits for so many minutes at most until that is true of the sale.
func (m *runningSale) await(minutes int, what string, done func(*harness.Books) bool) {
	for minute := 0; !done(harness.ReadBooks(m.world.DB, m.id)); minute++ {
		if minute == minutes {
			m.violate("%s: not true of %s after %d minutes", what, m.id, minutes)
			return
		}
		m.n.wait("director", time.Minute)
	}
}

// awaitOrders waits until every claim has its order and the queue is empty (P8).
func (m *simulation) awaitOrders() {
	since := m.watch.calmSince
	if m.sales[0].draft.draw != nil {
		since = time.Now() // people went on to buy
	}
	for {
		var unfinished []string
		for _, s := range m.sales {
			b := harness.ReadBooks(m.world.DB, s.id)
			for _, c := range b.Unfinished() {
				unfinished = append(unfinished, c.User)
				if b.Drained {
					m.violate("P8: %s is drained, and %s is without an order", s.id, c.User)
				}
			}
		}
		if len(unfinished) == 0 && m.world.Queue.Depth() == 0 {
			return
		}
		calm, bound := time.Since(since), harness.TimeToFinish(m.watch.skew)
		if calm > bound {
			m.violate("P8: after %v %v are without an order, %d messages wait", calm, unfinished, m.world.Queue.Depth())
			return
		}
		m.n.wait("director", min(time.Minute, bound+1-calm))
	}
}

// checkTable checks the table against the watch's observations and the operator's
// commands.
func (m *runningSale) checkTable(b *harness.Books) {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	w := m.watch
	for _, user := range harness.Sorted(w.claims) {
		if held := b.Claim(user).ClaimID; held != w.claims[user].id {
			w.violate("P4: %s had claim %s and has %q", user, w.claims[user].id, held)
		}
	}
	if len(b.Claims) != len(w.claims) {
		w.violate("P2: %d claims were seen to be made, %d are there", len(w.claims), len(b.Claims))
	}
	units := 0
	for _, n := range m.supplied {
		units += n
	}
	if b.Seeded != int64(units) {
		w.violate("P15: %d units were put into the sale and left there, it says %d", units, b.Seeded)
	}
}

// checkChanges checks that each change with an id of its own that was answered is in the trail, or an
// addition, once (P32).
func (m *runningSale) checkChanges() {
	made := map[string]int{}
	for _, it := range m.world.DB.Items(harness.TableName) {
		pk, sk := harness.Text(it["pk"]), harness.Text(it["sk"])
		if pk == "CHANGES#"+m.id {
			made[harness.Text(it["id"])]++
		}
		if id, isSeeding := strings.CutPrefix(sk, "SEED#"); isSeeding && pk == "SALE#"+m.id && !strings.Contains(id, "#") {
			made[id]++
		}
	}
	for _, event := range m.sentEvents {
		if id := cmp.Or(valueOf(event, "changeId"), valueOf(event, "seedId")); id != "" && !m.refused[event] && made[id] != 1 {
			m.violate("P32: %s was answered, and was made %d times", event, made[id])
		}
	}
}

func (m *simulation) checkDeadLetters() {
	dead := m.world.Queue.DeadLetters()
	for _, body := range m.draft.poisons {
		if !dead[body] {
			m.violate("P10: %q is not in the dead-letter queue", body)
		}
	}
}

// replay repeats every message, seeding and payment, and every accepted purchase: the
// answers must be the same, and the table must not change (P9).
func (m *simulation) replay() {
	before := m.dump()
	for _, body := range m.world.Queue.SentBodies() {
		m.world.Queue.Put(body, time.Now())
	}
	for m.world.Queue.Depth() > 0 {
		m.n.wait("director", time.Minute)
	}
	for _, s := range m.sales {
		s.repeatRequests()
	}
	if after := m.dump(); after != before {
		m.violate("P9: replays changed the table from\n%s to\n%s", before, after)
	}
}

// repeatRequests repeats the requests of operator, buyers and payment providers.
func (m *runningSale) repeatRequests() {
	for _, c := range m.draft.commands {
		if event := m.sentEvents[c.number]; event != "" {
			m.command(c, event, true)
		}
	}
	m.repeatCancellations()
	for _, p := range m.recordedPayments() {
		m.reportPayment(p, m.id+" "+p.ID()+" again")
	}
	for _, b := range m.draft.buyers {
		if key, units := b.clicks[0].key, b.clicks[0].units; m.bodies[fmt.Sprint(b.user, key, units)] != "" {
			if r := m.buyUntilAnswered(b.user, key, units); r.Status != 202 && !r.Claim.Released() {
				m.violate("P9: %s repeats an accepted purchase and is told %d %s", b.user, r.Status, r.Code)
			}
		}
	}
}

// checkDrained waits until reconciliation must have drained a closed sale: some minutes after
// it may, and after the faults, which may have lasted until long after the end of the sale.
func (m *runningSale) checkDrained() {
	m.n.mu.Lock()
	closesAt, mayDrain := m.watch.newestWindow().endsAt, m.watch.calmSince
	m.n.mu.Unlock()
	if time.Until(closesAt) > 0 {
		return
	}
	if at := closesAt.Add(ledger.DrainAfter); at.After(mayDrain) {
		mayDrain = at
	}
	m.n.wait("director", time.Until(mayDrain.Add(5*time.Minute)))
	if m.isToBeDrained() {
		m.violate("P8: %s closed at %v and is not drained", m.id, closesAt.Sub(m.began))
	}
}

// isToBeDrained reports whether the sale is not drained, and does not wait for an operator: of a paused sale
// nothing is released.
func (m *runningSale) isToBeDrained() bool {
	db := m.world.DB
	sold, listing := db.Item(harness.TableName, "SALE#"+m.id, "SALE"), db.Item(harness.TableName, "SALES", m.id)
	return listing["drained"] == nil && (sold["recalledAt"] != nil || m.draft.payWithin == 0 || !harness.IsTrue(sold["paused"]))
}

// dump is the table without the listing, where reconciliation stores its cursors.
func (m *simulation) dump() string {
	lines := strings.SplitAfter(m.world.DB.Dump(), "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, `"SALES"`) }), "")
}
