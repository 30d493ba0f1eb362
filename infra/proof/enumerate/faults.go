package enumerate

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/harness"
)

// fault is what goes wrong with one call.
type fault struct {
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
	writeFaults = []fault{
		{name: "refused for its first item", injected: dynamotest.Fault{Kind: dynamotest.Conflict, Items: []int{0}}},
		{name: "failed", injected: dynamotest.Fault{Kind: dynamotest.ServerError}},
		{name: "applied, reply lost", injected: dynamotest.Fault{Kind: dynamotest.LostReply}},
		{name: "applied, crash", crash: true},
		{name: "applied late", injected: dynamotest.Fault{Kind: dynamotest.ApplyLate, After: 1500 * time.Millisecond}},
	}
	// With several items, only the second one may conflict.
	// Nor need all of them be visible when a caller dies who was not answered.
	manyItemFaults = append([]fault{
		{name: "refused for its second item", injected: dynamotest.Fault{Kind: dynamotest.Conflict, Items: []int{1}}},
		{name: "applied, crash, its first item hidden", crash: true, injected: dynamotest.Fault{Hidden: []int{0}, HiddenFor: hiddenFor}},
		{name: "applied, crash, its second item hidden", crash: true, injected: dynamotest.Fault{Hidden: []int{1}, HiddenFor: hiddenFor}},
	}, writeFaults...)
	sendFaults = []fault{
		{name: "failed", injected: dynamotest.Fault{Kind: dynamotest.ServerError}},
		{name: "applied, reply lost", injected: dynamotest.Fault{Kind: dynamotest.LostReply}},
		{name: "applied, crash", crash: true},
	}
	putFaults = append([]fault{
		{name: "its first entry failed", injected: dynamotest.Fault{Kind: dynamotest.Unprocessed, Items: []int{0}}},
		{name: "its last entry failed", injected: dynamotest.Fault{Kind: dynamotest.Unprocessed, Items: []int{-1}}},
	}, sendFaults...)
	// Nothing depends on the result of a deletion.
	deleteFaults = []fault{{name: "failed"}}
	// A read changes nothing: lost or refused is the same, and so is before or after.
	readFaults = []fault{
		{name: "failed", injected: dynamotest.Fault{Kind: dynamotest.ServerError}},
		{name: "crash", crash: true},
	}
	// A pass of reconciliation or releasing that runs out of time is resumed.
	passFaults = append([]fault{{name: "the time is up", cutOff: true}}, readFaults...)
)

// hiddenFor is how long an item of a transaction is hidden from plain reads.
const hiddenFor = 30 * time.Millisecond

func faultsOf(f harness.Function, p harness.Point) []fault {
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

// chooser intercepts the calls of an enumeration: at every call it asks the plan which
// fault happens, as long as any is left. One invocation
// runs at a time; the lock is for the calls that it makes at once, as a seeding does of its
// shards.
type chooser struct {
	mu   sync.Mutex
	plan *plan
	// faultsLeft is how many faults may still happen; active whether any may.
	faultsLeft int
	active     bool
	// meanwhile may run once, in another environment, between two calls of the current
	// invocation. overlap is how many faults it counts as: 0, or 1 for fewer plans.
	meanwhile func()
	overlap   int
	// injected is the fault of the current call.
	injected dynamotest.Fault
	// log is for understanding a violation.
	log []logLine
	// holdsBack: the writes of purchases have no answer, and are applied when the table's pending
	// writes are.
	holdsBack bool
}

// logLine is formatted only when it is printed: nearly all of a hundred thousand runs
// never are.
type logLine struct {
	format string
	args   []any
}

func (c *chooser) logf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, logLine{format, args})
}

func (c *chooser) inject(f dynamotest.Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.injected = f
}

// current is the fault of the current call.
func (c *chooser) current() dynamotest.Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.injected
}

// setActive locks, because other calls of the current invocation may be going on.
func (c *chooser) setActive(active bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active = active
}

func (c *chooser) logText() string {
	var text strings.Builder
	for _, l := range c.log {
		fmt.Fprintf(&text, "\n  "+l.format, l.args...)
	}
	return text.String()
}

func (c *chooser) Intercept(ctx context.Context, e *harness.Environment, p harness.Point, do func() error) error {
	if e.Dead.Load() {
		runtime.Goexit()
	}
	if p.IsPart() {
		return do() // a roll has a thousand, and none depends on another
	}
	c.interleave()
	a := c.choose(e.Function, p)
	c.logf("%s %d: %v: %s", e.Function, e.Number, p, a.name)
	if a.cutOff {
		time.Sleep(time.Until(e.Deadline.Add(-harness.InvocationMargin)))
		return harness.ErrTimeout
	}
	if c.holdsBack && e.Function == harness.Purchasing && p.Many {
		a.injected = dynamotest.Fault{Kind: dynamotest.ApplyLate}
	}
	c.inject(a.injected)
	err := do()
	c.inject(dynamotest.Fault{})
	if a.crash {
		e.Die()
	}
	return err
}

func (c *chooser) choose(f harness.Function, p harness.Point) fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	none := fault{name: "ok"}
	if !c.active || c.faultsLeft == 0 {
		return none
	}
	possible := faultsOf(f, p)
	n := c.plan.choose(1 + len(possible))
	if n == 0 {
		return none
	}
	c.faultsLeft--
	return possible[n-1]
}

func (c *chooser) interleave() {
	c.mu.Lock()
	if c.meanwhile == nil || !c.active || c.faultsLeft < c.overlap || c.plan.choose(2) == 0 {
		c.mu.Unlock()
		return
	}
	c.faultsLeft -= c.overlap
	other := c.meanwhile
	c.meanwhile = nil
	c.mu.Unlock()
	c.logf("meanwhile:")
	other()
	c.logf("back:")
}
