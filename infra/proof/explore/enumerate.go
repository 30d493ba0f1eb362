package explore

import (
	"context"
	"io"
	"math/rand/v2"
	"time"

	"flashsale/infra/kit/dynamotest"
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
	schedule := newSchedule(1)
	defer close(schedule.stop)
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
	n := &network{schedule: schedule, planned: p, log: &journal{began: time.Now()}}
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
	s.buyUnits(sale, e, user, key, 0)
}

// buyUnits is the same of so many units.
func (s *scene) buyUnits(sale *runningSale, e *harness.Environment, user, key string, units int64) {
	sale.draft.buyers = append(sale.draft.buyers, buyer{user: user, clicks: []click{{key: key, units: units}}})
	sale.clickIn(e, user, key, units, time.Now())
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

// plan walks depth-first through every sequence of choices in the runs of a
// deterministic scenario. Later choices and their options may depend on earlier ones
// and need not be known in advance.
type plan struct {
	path []branch
	at   int
	// nondeterministic: a run had other choices than the previous one under the same plan, so the
	// scenario is not deterministic and the walk proves nothing.
	nondeterministic bool
}

type branch struct{ taken, options int }

// choose returns this run's option, 0…options-1. The first run takes 0
// everywhere.
func (p *plan) choose(options int) int {
	if options < 2 {
		return 0
	}
	if p.at == len(p.path) {
		p.path = append(p.path, branch{0, options})
	}
	b := p.path[p.at]
	p.at++
	if b.options != options {
		p.nondeterministic = true
		return 0
	}
	return b.taken
}

// next advances to the next run, or reports that there is none.
func (p *plan) next() bool {
	p.nondeterministic = p.nondeterministic || p.at < len(p.path)
	p.path, p.at = p.path[:p.at], 0
	for i := len(p.path) - 1; i >= 0; i-- {
		if p.path[i].taken++; p.path[i].taken < p.path[i].options {
			p.path = p.path[:i+1]
			return true
		}
	}
	return false
}

// planned decides by a plan what goes wrong, instead of drawing it. The network's lock guards it.
type planned struct {
	*plan
	// faultsLeft is how many faults may still happen; active whether any may.
	faultsLeft int
	active     bool
	// meanwhile may run once, in another environment, between two calls of the current
	// invocation. It counts as a fault.
	meanwhile func()
	// injected is the fault of the current call.
	injected dynamotest.Fault
	// holdsBack: the writes of purchases have no answer, and are applied when the table's pending
	// writes are.
	holdsBack bool
}

// plannedFault is what goes wrong with one call.
type plannedFault struct {
	name     string
	injected dynamotest.Fault
	// crash ends the environment after the call was applied.
	crash bool
	// cutOff makes the invocation time out instead of making the call.
	cutOff bool
}

// What may happen to a call. A crash before a call leaves the same state as a crash
// after the previous call, or, before the first call, as a request that never arrived:
// so it is not a separate fault.
var (
	writeFaults = []plannedFault{
		{name: "refused for its first item", injected: dynamotest.Fault{Kind: dynamotest.Conflict, Items: []int{0}}},
		{name: "failed", injected: dynamotest.Fault{Kind: dynamotest.ServerError}},
		{name: "applied, reply lost", injected: dynamotest.Fault{Kind: dynamotest.LostReply}},
		{name: "applied, crash", crash: true},
		{name: "applied late", injected: dynamotest.Fault{Kind: dynamotest.ApplyLate, After: 1500 * time.Millisecond}},
	}
	// With several items, only the second one may conflict.
	// Nor need all of them be visible when a caller dies who was not answered.
	manyItemFaults = append([]plannedFault{
		{name: "refused for its second item", injected: dynamotest.Fault{Kind: dynamotest.Conflict, Items: []int{1}}},
		{name: "applied, crash, its first item hidden", crash: true, injected: dynamotest.Fault{Hidden: []int{0}, HiddenFor: hiddenAtMost}},
		{name: "applied, crash, its second item hidden", crash: true, injected: dynamotest.Fault{Hidden: []int{1}, HiddenFor: hiddenAtMost}},
	}, writeFaults...)
	sendFaults = []plannedFault{
		{name: "failed", injected: dynamotest.Fault{Kind: dynamotest.ServerError}},
		{name: "applied, reply lost", injected: dynamotest.Fault{Kind: dynamotest.LostReply}},
		{name: "applied, crash", crash: true},
	}
	putFaults = append([]plannedFault{
		{name: "its first entry failed", injected: dynamotest.Fault{Kind: dynamotest.Unprocessed, Items: []int{0}}},
		{name: "its last entry failed", injected: dynamotest.Fault{Kind: dynamotest.Unprocessed, Items: []int{-1}}},
	}, sendFaults...)
	// Nothing depends on the result of a deletion.
	deleteFaults = []plannedFault{{name: "failed"}}
	// A read changes nothing: lost or refused is the same, and so is before or after.
	readFaults = []plannedFault{
		{name: "failed", injected: dynamotest.Fault{Kind: dynamotest.ServerError}},
		{name: "crash", crash: true},
	}
	// A pass of reconciliation or releasing that runs out of time is resumed.
	passFaults = append([]plannedFault{{name: "the time is up", cutOff: true}}, readFaults...)
)

func faultsOf(f harness.Function, p harness.Point) []plannedFault {
	switch {
	case p.Op == "SendMessage":
		return sendFaults
	case p.Op == "DeleteMessage", p.Op == "Checkpoint":
		return deleteFaults
	case p.Op == "PutEvents":
		return putFaults
	case p.Writes && p.Many:
		return manyItemFaults
	case p.Writes:
		return writeFaults
	case f == harness.Reconciling || f == harness.Releasing || f == harness.Drawing:
		return passFaults
	}
	return readFaults
}

// follow makes a call with the fault that the plan has for it.
func (n *network) follow(ctx context.Context, e *harness.Environment, p harness.Point, do func() error) error {
	name := p.String()
	deadline, _ := ctx.Deadline()
	n.pass(e.Invocation, name, deadline, func(*rand.Rand) time.Duration { return time.Microsecond })
	n.exitIfDead(e)
	n.interleave()
	a := n.chooseFault(e.Function, p)
	if a.name != "" {
		n.note(e, name, a.name)
	}
	if a.cutOff {
		n.pass(e.Invocation, name, time.Time{}, func(*rand.Rand) time.Duration { return time.Until(e.Deadline.Add(-harness.InvocationMargin)) })
		return harness.ErrTimeout
	}
	_, err := n.execute(e, p, time.Now(), do)
	if a.crash {
		e.Die()
	}
	return err
}

// chooseFault returns the fault of a call, which the table or the queue then meets; its name is "" for
// none.
func (n *network) chooseFault(f harness.Function, p harness.Point) (a plannedFault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.planned
	if c.active && c.faultsLeft > 0 {
		possible := faultsOf(f, p)
		if i := c.choose(1 + len(possible)); i > 0 {
			c.faultsLeft--
			a = possible[i-1]
		}
	}
	if c.injected = a.injected; c.holdsBack && f == harness.Purchasing && p.Many {
		c.injected = dynamotest.Fault{Kind: dynamotest.ApplyLate}
	}
	return a
}

// interleave runs what may run meanwhile, if the plan has it here.
func (n *network) interleave() {
	n.mu.Lock()
	c := n.planned
	if c.meanwhile == nil || !c.active || c.faultsLeft == 0 || c.choose(2) == 0 {
		n.mu.Unlock()
		return
	}
	c.faultsLeft--
	other := c.meanwhile
	c.meanwhile = nil
	n.mu.Unlock()
	n.write("meanwhile:")
	other()
	n.write("back:")
}
