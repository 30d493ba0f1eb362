package enumerate

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"flashsale/infra/harness"
	"flashsale/shared/ledger/dynamotest"
)

// accident is what happens to one call.
type accident struct {
	name  string
	fault dynamotest.Fault
	// crash ends the environment after the call was applied.
	crash bool
	// cutOff makes the invocation time out instead of making the call.
	cutOff bool
}

// What may happen to a call. A crash before a call leaves the same state as a crash
// after the previous call, or, before the first call, as a request that never arrived:
// so it is not a separate accident.
var (
	writeAccidents = []accident{
		{name: "refused for its first item", fault: dynamotest.Fault{Kind: dynamotest.Conflict, Items: []int{0}}},
		{name: "failed", fault: dynamotest.Fault{Kind: dynamotest.ServerError}},
		{name: "applied, reply lost", fault: dynamotest.Fault{Kind: dynamotest.LostReply}},
		{name: "applied, crash", crash: true},
		{name: "applied late", fault: dynamotest.Fault{Kind: dynamotest.ApplyLate, After: 1500 * time.Millisecond}},
	}
	// With several items, only the second one may conflict.
	manyAccidents = append([]accident{
		{name: "refused for its second item", fault: dynamotest.Fault{Kind: dynamotest.Conflict, Items: []int{1}}},
	}, writeAccidents...)
	sendAccidents = []accident{
		{name: "failed", fault: dynamotest.Fault{Kind: dynamotest.ServerError}},
		{name: "applied, reply lost", fault: dynamotest.Fault{Kind: dynamotest.LostReply}},
		{name: "applied, crash", crash: true},
	}
	putAccidents = append([]accident{
		{name: "its first entry failed", fault: dynamotest.Fault{Kind: dynamotest.Unprocessed, Items: []int{0}}},
		{name: "its last entry failed", fault: dynamotest.Fault{Kind: dynamotest.Unprocessed, Items: []int{-1}}},
	}, sendAccidents...)
	// Nothing depends on the result of a deletion.
	removeAccidents = []accident{{name: "failed"}}
	// A read changes nothing: lost or refused is the same, and so is before or after.
	readAccidents = []accident{
		{name: "failed", fault: dynamotest.Fault{Kind: dynamotest.ServerError}},
		{name: "crash", crash: true},
	}
	// A pass of reconciliation or releasing that runs out of time is resumed.
	passAccidents = append([]accident{{name: "the time is up", cutOff: true}}, readAccidents...)
)

func accidentsOf(f harness.Function, p harness.Point) []accident {
	switch {
	case p.Op == "SendMessage":
		return sendAccidents
	case p.Op == "DeleteMessage", p.Op == "Checkpoint":
		return removeAccidents
	case p.Op == "PutEvents":
		return putAccidents
	case p.Writes && p.Many:
		return manyAccidents
	case p.Writes:
		return writeAccidents
	case f == harness.Reconciling || f == harness.Releasing:
		return passAccidents
	}
	return readAccidents
}

// chooser is the guard of an enumeration: at every call it asks the plan which accident
// happens, as long as any is left. Exactly one invocation runs at a time, so it needs
// no lock.
type chooser struct {
	plan *plan
	// left is how many accidents may still happen; active whether any may.
	left   int
	active bool
	// meanwhile may run once, in another environment, between two calls of the current
	// invocation. overlap is how many accidents it counts as: 0, or 1 for fewer plans.
	meanwhile func()
	overlap   int
	fault     dynamotest.Fault
	// story is the log of events, for understanding a violation.
	story []line
}

// line is a line of a story, formatted only when it is printed: nearly all of a hundred
// thousand runs never are.
type line struct {
	format string
	args   []any
}

func (c *chooser) tell(format string, args ...any) { c.story = append(c.story, line{format, args}) }

// storyText returns the whole story.
func (c *chooser) storyText() string {
	var text strings.Builder
	for _, l := range c.story {
		fmt.Fprintf(&text, "\n  "+l.format, l.args...)
	}
	return text.String()
}

func (c *chooser) Call(ctx context.Context, e *harness.Environment, p harness.Point, do func() error) error {
	if e.Dead.Load() {
		runtime.Goexit()
	}
	c.interleave()
	a := c.choose(e.Function, p)
	c.tell("%s %d: %v: %s", e.Function, e.Number, p, a.name)
	if a.cutOff {
		time.Sleep(time.Until(e.Deadline.Add(-harness.InvocationMargin)))
		return harness.ErrTimeout
	}
	c.fault = a.fault
	err := do()
	c.fault = dynamotest.Fault{}
	if a.crash {
		e.Die()
	}
	return err
}

func (c *chooser) choose(f harness.Function, p harness.Point) accident {
	none := accident{name: "ok"}
	if !c.active || c.left == 0 {
		return none
	}
	possible := accidentsOf(f, p)
	n := c.plan.choose(1 + len(possible))
	if n == 0 {
		return none
	}
	c.left--
	return possible[n-1]
}

func (c *chooser) interleave() {
	if c.meanwhile == nil || !c.active || c.left < c.overlap || c.plan.choose(2) == 0 {
		return
	}
	c.left -= c.overlap
	other := c.meanwhile
	c.meanwhile = nil
	c.tell("meanwhile:")
	other()
	c.tell("back:")
}
