package explore

import (
	"io"
	"time"

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

// enumerate runs the scenario through every plan of up to that many faults, of which an
// overlapping request is one, until a promise is broken. It must be called in a synctest bubble.
func enumerate(s scenario, faults int) (runs int, violations []string) {
	var p plan
	if s.mostFaults > 0 {
		faults = min(faults, s.mostFaults)
	}
	for more := true; more && len(violations) == 0; {
		runs++
		// Every run begins at the start of a minute: order ids contain whole seconds,
		// so a run may depend on the fraction of a second at which it begins.
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
		violations = s.run(&planned{plan: &p, faultsLeft: faults})
		more = p.next()
		if p.nondeterministic {
			return runs, append(violations, s.name+": a run had other choices than the one before under the same plan")
		}
	}
	return runs, violations
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
		m.stream.run()
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

// start starts an environment for purchases.
func (s *scene) start() *harness.Environment { return s.simulation.start(harness.Purchasing) }

// alive returns an environment for purchases: a cold one if this one has died.
func (s *scene) alive(e *harness.Environment) *harness.Environment {
	if e.Dead.Load() {
		return s.start()
	}
	return e
}

// buy sends a user's purchase in one of the sales, with a key or without, to that environment.
func (s *scene) buy(sale *runningSale, e *harness.Environment, user, key string) {
	sale.draft.buyers = append(sale.draft.buyers, buyer{user: user, clicks: []click{{key: key}}})
	sale.clickIn(e, user, key, time.Now())
}

// change asks for a change until it is made, or refused if it may be.
func (s *scene) change(c command, event string) {
	c.number, c.again = len(s.draft.commands), -1
	s.draft.commands = append(s.draft.commands, c)
	s.sentEvents[c.number] = event
	s.command(c, event, false)
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
			s.reconcile()
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
