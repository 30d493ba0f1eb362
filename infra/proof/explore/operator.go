package explore

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"flashsale/infra/proof/harness"
)

// runCommands runs the operator's commands in order, each until it succeeds, as a schedule
// or an operator with a checklist would.
func (m *runningSale) runCommands(commands []command) {
	order := slices.Clone(commands)
	// The creation comes first.
	slices.SortStableFunc(order[1:], func(a, b command) int { return cmp.Compare(a.at, b.at) })
	for _, c := range order {
		pause := time.Until(m.began.Add(c.at))
		if c.whenSoldOut {
			m.waitUntilSoldOut(pause)
			pause = c.delay
		}
		m.n.wait(m.id+" operator", max(time.Millisecond, pause))
		if c.again < 0 {
			if c.inDraw != nil {
				m.sentEvents[c.number] = c.inDraw(m, time.Now())
			} else {
				m.sentEvents[c.number] = m.looking(c.event(time.Now()))
			}
			m.command(c, m.sentEvents[c.number], false)
		} else if event := m.sentEvents[c.again]; event != "" {
			m.command(c, event, true)
		}
	}
}

// looking gives a person's resumption or extension what is to be seen of the sale now. A schedule's says nothing.
func (m *runningSale) looking(event string) string {
	if !strings.Contains(event, `"action":"resume"`) && !strings.Contains(event, `"action":"extend"`) || !strings.Contains(event, `"actor":`) {
		return event
	}
	event, _, _ = strings.Cut(strings.TrimSuffix(event, "}"), `,"version":`)
	return event + `,"version":"` + harness.SeenOf(m.world.DB, m.id).Text(m.id) + `"}`
}

// overtaken is a change that was refused because of another one, as it is asked for again.
func (m *runningSale) overtaken(event string) string {
	if harness.SeenOf(m.world.DB, m.id).Text(m.id) == valueOf(event, "version") {
		m.violate("P32: refused although nobody changed the sale: %s", event)
	}
	id := valueOf(event, "changeId")
	for _, it := range m.world.DB.Items(harness.TableName) {
		if harness.Text(it["pk"]) == "CHANGES#"+m.id && harness.Text(it["id"]) == id {
			m.violate("P32: refused although it was made: %s", event)
		}
	}
	return m.looking(strings.Replace(event, `"changeId":"`+id, `"changeId":"`+id+"-", 1))
}

// waitUntilSoldOut waits until the last unit was sold, but at most for pause. If both are
// already true, the former counts: a select would choose randomly.
func (m *runningSale) waitUntilSoldOut(pause time.Duration) {
	select {
	case <-m.watch.soldOut:
		return
	default:
	}
	select {
	case <-m.watch.soldOut:
	case <-time.After(pause):
	}
}

// command sends one event until it succeeds, perhaps twice at once.
func (m *runningSale) command(c command, event string, repeated bool) {
	if !repeated {
		m.beginCommand(c)
	}
	var both sync.WaitGroup
	both.Go(func() { m.sendUntilAnswered(c, event, repeated, m.id+" operator") })
	if m.draft.twice {
		both.Go(func() { m.sendUntilAnswered(c, event, repeated, m.id+" other operator") })
	}
	both.Wait()
	m.n.wait(m.id+" operator", time.Microsecond)
	if !repeated {
		m.endCommand(c, event)
	}
}

// sendUntilAnswered sends one event until it succeeds.
func (m *runningSale) sendUntilAnswered(c command, event string, repeated bool, who string) {
	m.n.wait(who, time.Microsecond)
	for {
		var out struct {
			Seeded    int64 `json:"seeded"`
			Applied   bool  `json:"applied"`
			Withdrawn int   `json:"withdrawn"`
		}
		err := m.invoke(harness.Seeding, who, event, &out)
		m.write("operator: %s: %+v %v", event, out, err)
		if err == nil {
			if repeated && out.Applied && !m.wasRefused(event) {
				m.violate("P9: applied a second time: %s", event)
			}
			m.recordWithdrawn(event, out.Withdrawn)
			if out.Applied && strings.Contains(event, `"changeId":`) {
				m.recordApplied(event)
			}
			if c.recalls {
				m.n.mu.Lock()
				if m.recallKnown.IsZero() {
					m.recallKnown = time.Now().Add(harness.RefusalAge)
				}
				m.n.mu.Unlock()
			}
			return
		}
		code := harness.CodeOf(err)
		contradicts := code == "conflicting-request" || code == "recalled"
		switch {
		case code == "changed-meanwhile" && repeated:
			return
		case code == "changed-meanwhile":
			m.n.mu.Lock()
			m.refused[event] = true
			m.n.mu.Unlock()
			event = m.overtaken(event)
			continue
		case contradicts && c.mayConflict:
			m.recordRefused(event)
			return
		case contradicts && repeated && (code == "recalled" || strings.Contains(event, `"at":`) || strings.Contains(event, `"changeId":`)): // a newer edit disagrees
			return
		case !errors.Is(err, harness.ErrDied) && code != "busy":
			m.violate("P15: %s: %v", event, err)
			return
		}
		m.n.pass(0, who, time.Time{}, func(r *rand.Rand) time.Duration { return between(r, time.Second, 5*time.Second) })
	}
}

// recordApplied records that a caller was told that the change was applied for it: one at most.
func (m *runningSale) recordApplied(event string) {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	if m.applied[event] {
		m.watch.violate("P32: two callers were told that %s was applied for them", event)
	}
	m.applied[event] = true
}

// recordRefused records that a change was not allowed. A withdrawal may have taken units
// before.
func (m *runningSale) recordRefused(event string) {
	m.n.mu.Lock()
	m.refused[event] = true
	m.watch.counts["refused-changes"]++
	m.n.mu.Unlock()
	if seedID := valueOf(event, "seedId"); seedID != "" {
		m.recordWithdrawn(event, harness.WithdrawnBy(m.world.DB, m.id, seedID))
	}
}

// wasRefused tells whether a change was not allowed when it was first asked for. Then its repetition may be its first
// application: what was too short for one call of a draw may do for the next.
func (m *runningSale) wasRefused(event string) bool {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	return m.refused[event]
}

// valueOf returns a text member of an event.
func valueOf(event, name string) string {
	_, rest, _ := strings.Cut(event, `"`+name+`":"`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// recordWithdrawn records how many units a command withdrew, 0 if it is not a withdrawal: all
// answers to it must agree.
func (m *runningSale) recordWithdrawn(event string, units int) {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	if before, known := m.withdrawn[event]; known && before != units {
		m.watch.violate("P9: %d units were withdrawn by %s, then %d", before, event, units)
	}
	m.withdrawn[event] = units
}

// beginCommand records that the window may change from now on.
func (m *runningSale) beginCommand(c command) {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	if c.edit {
		m.watch.answeredWindow = nil
	}
}

// endCommand records that a command was answered: all its units are added or gone, its edit is
// in every shard.
func (m *runningSale) endCommand(c command, event string) {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	if c.units > 0 && !m.refused[event] {
		m.supplied[event] = c.units
	}
	if until, err := time.Parse(time.RFC3339, valueOf(event, "until")); err == nil && c.extends && !m.refused[event] {
		m.watch.extend(until)
		m.watch.counts["extended"]++
	}
	if c.withdraws {
		m.supplied[event] = -m.withdrawn[event]
	}
	if c.number == 0 && m.createdAt.IsZero() {
		m.createdAt = time.Now()
	}
	if now := m.watch.newestWindow(); c.edit && now != nil {
		settled := *now
		m.watch.answeredWindow = &settled
	}
}

// cancelsEvery is how many seeds there are, on average, for one whose operators cancel orders.
const cancelsEvery = 4

// cancellationsOf draws from numbers of its own, so that it changes nothing of the seeds without cancellations.
func cancellationsOf(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x6f6666696365)) }

// cancellation is what an operator does about one order: look, think, and cancel the order as it was seen.
type cancellation struct {
	at, thinks time.Duration
	pick       int // whose order
	unit       string
	ids        []string // one for each operator; all at once
}

// drawCancellations draws them while most buyers buy and pay, or when the sale is closed and may be drained.
func drawCancellations(r *rand.Rand, d saleDraft) (all []cancellation) {
	for i := range 1 + r.IntN(6) {
		v := cancellation{
			at: d.opensAt + time.Duration(r.ExpFloat64()*float64(30*time.Second)), thinks: time.Duration(r.ExpFloat64() * float64(20*time.Second)),
			pick: r.IntN(1 << 20), unit: []string{"back", "kept"}[r.IntN(2)], ids: []string{fmt.Sprint("cancel-", i)},
		}
		if closed := d.closesAt + between(r, 0, 25*time.Minute); closed < time.Hour && sometimes(r, 0.4) {
			v.at = closed
		}
		if d.draw != nil {
			v.at = between(r, d.opensAt, d.draw.until)
		}
		if sometimes(r, 0.3) {
			v.ids = append(v.ids, []string{v.ids[0], v.ids[0] + "-other"}[r.IntN(2)])
		}
		all = append(all, v)
	}
	return all
}

// runCancellations makes them, each beside the others.
func (m *runningSale) runCancellations(cancellations []cancellation) {
	var all sync.WaitGroup
	for i, v := range cancellations {
		who := fmt.Sprint(m.id, " office ", i)
		all.Go(func() {
			m.n.wait(who, max(time.Microsecond, v.at))
			user, saw := m.look(v.pick)
			if user == "" {
				return
			}
			m.n.wait(who, max(time.Microsecond, v.thinks))
			var both sync.WaitGroup
			for k, id := range v.ids {
				both.Go(func() { m.operatorCancels(user, saw, v.unit, id, fmt.Sprint(who, " ", k)) })
			}
			both.Wait()
		})
	}
	all.Wait()
}

// look returns a user whose order may be cancelled, and its state; "" if there is none.
func (m *runningSale) look(pick int) (user, state string) {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	var users []string
	for _, user := range harness.Sorted(m.watch.claims) {
		if c := m.watch.claims[user]; c.orderID != "" && c.unit == "" && (c.end == "" || c.isPaid()) {
			users = append(users, user)
		}
	}
	if len(users) == 0 {
		return "", ""
	}
	user = users[pick%len(users)]
	return user, m.watch.claims[user].seenAs()
}

func (c *seenClaim) isPaid() bool { return strings.Contains(c.end, "#") }

// seenAs is the state in which an operator sees an order that may be cancelled.
func (c *seenClaim) seenAs() string {
	if c.isPaid() {
		return "PAID"
	}
	return "CONFIRMED"
}

// operatorCancels cancels an order until that is answered, and judges the answer by the table (P37).
func (m *runningSale) operatorCancels(user, saw, unit, id, who string) {
	m.n.wait(who, time.Microsecond)
	m.n.mu.Lock()
	order := m.watch.claims[user].orderID
	m.n.mu.Unlock()
	event := fmt.Sprintf(`{"action":"cancel","saleId":%q,"orderId":%q,"expected":%q,"unit":%q,"changeId":%q,"actor":%q,"note":"moved away"}`, m.id, order, saw, unit, id, who)
	for range 1000 {
		applied, err := m.askToCancel(event, who)
		code := harness.CodeOf(err)
		if errors.Is(err, harness.ErrDied) || code == "busy" || code == "order-not-found" { // its order item may be late
			m.n.wait(who, 2*time.Second)
			continue
		}
		m.n.mu.Lock()
		defer m.n.mu.Unlock()
		if wrong := m.checkCancellation(user, order, saw, unit, id, code); wrong != "" {
			m.watch.violate("P37: %s: %s: %v", event, wrong, err)
		}
		if applied && m.applied[m.id+" "+id] {
			m.watch.violate("P37: two callers were told that %s was applied for them", event)
		}
		if applied {
			m.applied[m.id+" "+id] = true
			m.watch.counts["cancelled-orders"]++
		}
		if err == nil {
			m.cancelled[event] = true
			if m.cancelKnown[user].IsZero() {
				m.cancelKnown[user] = time.Now().Add(harness.RefusalAge)
			}
		}
		return
	}
	m.violate("P5: %s gets no answer", event)
}

func (m *runningSale) askToCancel(event, who string) (applied bool, err error) {
	var out struct{ Applied bool }
	err = m.invoke(harness.Seeding, who, event, &out)
	m.write("%s: %s: %+v %v", who, event, out, err)
	return out.Applied, err
}

// checkCancellation compares an answer with the table: who is told that it is done has cancelled the order as it was
// seen, and who is told another thing has not. Both locks are held.
func (m *runningSale) checkCancellation(user, order, saw, unit, id, code string) string {
	entry, claim := m.world.DB.Item(harness.TableName, "CANCELLED#"+m.id, order), m.watch.claims[user]
	by := harness.Text(entry["id"])
	switch {
	case code == "" && (by != id || harness.Text(entry["saw"]) != saw || claim.unit != unit || claim.seenAs() != saw):
		return fmt.Sprintf("it is said to be done, but cancelled by %q, the claim is %+v", by, claim)
	case code != "" && by == id:
		return "it is refused although it was made"
	case code == "changed-meanwhile" && by == "" && claim.end == "" && saw == "CONFIRMED",
		code == "recalled" && !m.watch.isRecalled():
		return fmt.Sprintf("it is refused although nothing has changed: %+v", claim)
	case code == "conflicting-request" && m.watch.isRecalled(): // its payment goes back by the recall
	case code != "" && code != "changed-meanwhile" && code != "recalled":
		return "it is refused"
	}
	return ""
}

// repeatCancellations repeats what was answered with success: it still is, and is not made again.
func (m *runningSale) repeatCancellations() {
	for _, event := range harness.Sorted(m.cancelled) {
		applied, err := m.askToCancel(event, m.id+" office again")
		if err != nil || applied {
			m.violate("P9: %s is repeated, and applied: %t, %v", event, applied, err)
		}
	}
}
