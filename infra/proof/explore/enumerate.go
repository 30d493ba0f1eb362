package explore

import (
	"fmt"
	"io"
	"strings"
	"time"

	"flashsale/infra/kit/client/webhook"
	"flashsale/infra/proof/harness"
)

// scenario is one small sale that is run under every plan of faults.
type scenario struct {
	name string
	sale saleDraft
	// grouped: the sale shares a limit with otherSale, which has 9 units on 9 shards.
	grouped bool
	// mostFaults is how many faults a plan has at most, whatever is asked for; 0 is no limit.
	mostFaults int
	// prepare runs before the faults begin.
	prepare func(*scene)
	// act runs while faults may happen.
	act func(*scene)
}

// otherSale has other shards and buckets than harness.SaleID.
const otherSale = "maotai"

// enumeration is the result of a scenario.
type enumeration struct {
	Runs       int
	Complete   bool // every plan was run within the budget
	Violations []string
}

// enumerate runs the scenario through every plan of up to that many faults, where an
// overlapping request counts as overlap faults, in at most budget runs. It must be
// called in a synctest bubble.
func enumerate(s scenario, faults, overlap, budget int) (result enumeration) {
	var p plan
	if s.mostFaults > 0 {
		faults = min(faults, s.mostFaults)
	}
	for result.Runs < budget && len(result.Violations) == 0 {
		result.Runs++
		// Every run begins at the start of a minute: order ids contain whole seconds,
		// so a run may depend on the fraction of a second at which it begins.
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
		result.Violations = s.run(&planned{plan: &p, faultsLeft: faults, overlap: overlap})
		if more := p.next(); !more || p.nondeterministic {
			result.Complete = !p.nondeterministic
			return result
		}
	}
	return result
}

// run runs the scenario under one plan.
func (s scenario) run(p *planned) (violations []string) {
	turns := newSchedule(1)
	defer close(turns.stop)
	d := draft{environments: map[harness.Function]int{}, batch: 100, firstPass: time.Minute}
	for f := range harness.Timeouts {
		d.environments[f] = 1
	}
	one := s.sale
	one.id, one.grouped = harness.SaleID, s.grouped
	if one.draw == nil {
		one.opensAt, one.closesAt = -time.Minute, 365*24*time.Hour
		delete(d.environments, harness.Drawing)
	}
	if d.sales = []saleDraft{one}; s.grouped {
		d.sales = append(d.sales, saleDraft{id: otherSale, stock: 9, shards: 9, opensAt: one.opensAt, closesAt: one.closesAt, grouped: true})
	}
	n := &network{schedule: turns, planned: p, log: &journal{began: time.Now()}}
	m := newWorld(n, d)
	here := &scene{runningSale: m.sales[0]}
	for _, one := range m.sales {
		(&scene{runningSale: one}).change(command{units: one.draft.stock}, one.draft.creation(time.Now()))
	}
	if s.prepare != nil {
		s.prepare(here)
	}
	here.setActive(true)
	s.act(here)
	here.setActive(!s.grouped) // reconcile looks at several sales at once, in any order
	here.repair()
	here.setActive(false)
	p.meanwhile = nil
	m.startSchedules()
	if m.stream != nil {
		m.stream.all.Go(m.stream.lanes[0].run)
	}
	m.finishAndCheck()
	if m.stream != nil {
		m.finishStream(io.Discard)
	}
	m.close()
	for _, text := range m.watch.found {
		violations = append(violations, s.name+": "+text+"\n"+n.log.tail(80))
	}
	return violations
}

// scene is the sale of a scenario, and what its people do one after the other.
type scene struct {
	*runningSale
}

func (s *scene) setActive(active bool) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	s.n.planned.active = active
}

// during runs act, and other at any one instant during it, or after it.
func (s *scene) during(other, act func()) {
	s.n.planned.meanwhile = other
	act()
	if s.n.planned.meanwhile != nil {
		s.n.planned.meanwhile = nil
		other()
	}
}

// withoutFaults runs act without faults, because another scenario covers them.
func (s *scene) withoutFaults(act func()) {
	s.setActive(false)
	act()
	s.setActive(true)
}

// start starts an environment for purchases.
func (s *scene) start() *harness.Environment { return s.simulation.start(harness.Purchasing) }

// alive returns an environment for purchases: a cold one if this one has died.
func (s *scene) alive(e *harness.Environment) *harness.Environment {
	if e.Dead.Load() {
		return s.start()
	}
	return e
}

// buy sends a user's purchase, with a key or without, to that environment, or to a cold one.
func (s *scene) buy(e *harness.Environment, user, key string) harness.Reply {
	return s.buyOf(s.runningSale, e, user, key)
}

func (s *scene) buyOf(sale *runningSale, e *harness.Environment, user, key string) harness.Reply {
	sale.draft.buyers = append(sale.draft.buyers, buyer{user: user, clicks: []click{{key: key}}})
	return sale.clickIn(e, user, key, time.Now())
}

// buyConfirmed buys for the users and confirms their orders.
func (s *scene) buyConfirmed(users ...string) {
	for _, user := range users {
		s.buy(s.start(), user, "")
	}
	s.deliverAll()
}

// buyOverdue does the same and waits until the claims may be released unpaid.
func (s *scene) buyOverdue(users ...string) {
	s.buyConfirmed(users...)
	time.Sleep(harness.PayWithin + harness.Grace + time.Second)
}

// pay reports a payment until it is recorded, as its provider does. One in two is
// reported by Stripe.
func (s *scene) pay(user, reference string) {
	p := harness.Payment{
		Provider: webhook.Stripe, Reference: reference, Sale: s.id, Order: s.watch.claims[user].orderID, User: user, Amount: harness.Price,
	}
	if strings.HasSuffix(reference, "2") {
		p.Provider = webhook.StandardWebhooks
	}
	s.reportPayment(p, user+" pays "+reference)
}

// change asks for a change until it is made, or refused if it may be.
func (s *scene) change(c command, event string) {
	c.number, c.again = len(s.draft.commands), -1
	s.draft.commands = append(s.draft.commands, c)
	s.sentEvents[c.number] = event
	s.command(c, event, false)
}

// restock adds a unit, withdraw takes units out of the sale, edit pauses or resumes it.
func (s *scene) restock() {
	s.change(command{units: 1}, `{"action":"add","saleId":"`+s.id+`","seedId":"second-batch","stock":1}`)
}

func (s *scene) withdraw(units int) {
	s.change(command{withdraws: true}, fmt.Sprintf(`{"action":"withdraw","saleId":%q,"seedId":"rest","stock":%d}`, s.id, units))
}

func (s *scene) edit(action, id string) {
	s.change(command{edit: true, mayConflict: true}, fmt.Sprintf(`{"action":%q,"saleId":%q,"changeId":%q}`, action, s.id, id))
}

// recall asks for the recall once: if it is cut off after it is in the table, the passes must go on with it.
func (s *scene) recall() {
	var out struct{ Applied bool }
	err := s.invoke(harness.Seeding, "operator", `{"action":"recall","saleId":"`+s.id+`","note":"defective"}`, &out)
	s.write("recall: %+v %v", out, err)
}

// dropQueue loses every message.
func (s *scene) dropQueue() {
	for _, m := range s.world.Queue.Receive(time.Now(), 100, nil) {
		s.world.Queue.Remove(m.ReceiptHandle)
	}
}

// deliverAll delivers all visible messages in one batch, and deletes those that are done.
func (s *scene) deliverAll() {
	if batch := s.world.Queue.Receive(time.Now(), 100, nil); len(batch) > 0 {
		s.deliver(s.simulation.start(harness.Finalizing), batch)
	}
}

// repair runs the first minutes afterwards, in which faults may still happen:
// messages are delivered, and if that does not finish every order, reconciliation runs.
func (s *scene) repair() {
	for minute := range 3 {
		if minute > 0 {
			time.Sleep(time.Minute)
			s.reconcile("{}")
		}
		s.deliverAll()
		unfinished := 0
		for _, one := range s.sales {
			unfinished += len(harness.ReadBooks(s.world.DB, one.id).Unfinished())
		}
		if unfinished == 0 {
			return
		}
	}
}
