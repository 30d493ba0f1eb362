package explore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"flashsale/infra/proof/harness"
)

// officeEvery is how many seeds there are, on average, for one whose office cancels orders.
const officeEvery = 4

// officeOf draws from numbers of its own, so that it changes nothing of the seeds without an office.
func officeOf(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x6f6666696365)) }

// visit is what the office does about one order: it looks, thinks, and cancels the order as it has seen it.
type visit struct {
	at, thinks time.Duration
	pick       int // whose order
	unit       string
	ids        []string // one for each operator; all at once
}

// drawOffice draws visits while most buyers buy and pay, or when the sale is closed and may be drained.
func drawOffice(r *rand.Rand, d saleDraft) (all []visit) {
	for i := range 1 + r.IntN(6) {
		v := visit{
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

// runOffice makes the visits, each beside the others.
func (m *runningSale) runOffice(visits []visit) {
	var all sync.WaitGroup
	for i, v := range visits {
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
				both.Go(func() { m.officeCancels(user, saw, v.unit, id, fmt.Sprint(who, " ", k)) })
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

// seenAs is the state in which the office sees an order that it may cancel.
func (c *seenClaim) seenAs() string {
	if c.isPaid() {
		return "PAID"
	}
	return "CONFIRMED"
}

// officeCancels cancels an order until that is answered, and judges the answer by the table (P37).
func (m *runningSale) officeCancels(user, saw, unit, id, who string) {
	m.n.wait(who, time.Microsecond)
	m.n.mu.Lock()
	order := m.watch.claims[user].orderID
	m.n.mu.Unlock()
	event := fmt.Sprintf(`{"action":"cancel","saleId":%q,"orderId":%q,"saw":%q,"unit":%q,"changeId":%q,"actor":%q,"note":"moved away"}`, m.id, order, saw, unit, id, who)
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
