package explore

import (
	"context"
	"math/rand/v2"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/harness"
)

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
	_, err := n.execute(e, p, do)
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
