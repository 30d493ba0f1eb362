package simulate

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"flashsale/shared/ledger/dynamotest"
)

// accident is what happens to one call.
type accident struct {
	name  string
	fault dynamotest.Fault
	// crash ends the environment after the call was applied.
	crash bool
	// cutOff lets the invocation's time run out in place of the call.
	cutOff bool
}

// What may happen to a call. A crash before a call leaves the same world behind
// as a crash after the call before it, and before the first call as a request
// that never came: so it is not an accident of its own.
var (
	writeAccidents = []accident{
		{name: "refused for its first item", fault: dynamotest.Fault{Kind: dynamotest.Conflict, Items: []int{0}}},
		{name: "failed", fault: dynamotest.Fault{Kind: dynamotest.ServerError}},
		{name: "applied, reply lost", fault: dynamotest.Fault{Kind: dynamotest.LostReply}},
		{name: "applied, crash", crash: true},
		{name: "applied late", fault: dynamotest.Fault{Kind: dynamotest.ApplyLate, After: 1500 * time.Millisecond}},
	}
	// Of several items a second one alone may be in the way.
	manyAccidents = append([]accident{
		{name: "refused for its second item", fault: dynamotest.Fault{Kind: dynamotest.Conflict, Items: []int{1}}},
	}, writeAccidents...)
	sendAccidents = []accident{
		{name: "failed", fault: dynamotest.Fault{Kind: dynamotest.ServerError}},
		{name: "applied, reply lost", fault: dynamotest.Fault{Kind: dynamotest.LostReply}},
		{name: "applied, crash", crash: true},
	}
	// Nobody listens to what becomes of a deletion.
	removeAccidents = []accident{{name: "failed"}}
	// A read changes nothing: lost or refused is one, before or after is one.
	readAccidents = []accident{
		{name: "failed", fault: dynamotest.Fault{Kind: dynamotest.ServerError}},
		{name: "crash", crash: true},
	}
	// A pass of reconciliation that runs out of time is resumed.
	passAccidents = append([]accident{{name: "the time is up", cutOff: true}}, readAccidents...)
)

func accidentsOf(f function, p point) []accident {
	switch {
	case p.op == "SendMessage":
		return sendAccidents
	case p.op == "DeleteMessage":
		return removeAccidents
	case p.writes && p.many:
		return manyAccidents
	case p.writes:
		return writeAccidents
	case f == reconciling:
		return passAccidents
	}
	return readAccidents
}

// chooser is the guard of an enumeration: at every call it asks the plan which
// accident happens, as long as there is one left to happen. Exactly one
// invocation runs at a time, so it needs no lock.
type chooser struct {
	plan *plan
	// left is how many accidents may still happen; active whether any may.
	left   int
	active bool
	// meanwhile is what may run between two calls of the invocation that is
	// under way, once, in another environment. overlap is how many accidents
	// that stands for: 0, or 1 for fewer plans.
	meanwhile func()
	overlap   int
	fault     dynamotest.Fault
	// story is what happened, for whoever has to understand a violation.
	story []line
}

// line is a line of a story, written out only if somebody wants to read it: of
// a hundred thousand runs nobody does.
type line struct {
	format string
	args   []any
}

func (c *chooser) tell(format string, args ...any) { c.story = append(c.story, line{format, args}) }

// told is the whole story.
func (c *chooser) told() string {
	var text strings.Builder
	for _, l := range c.story {
		fmt.Fprintf(&text, "\n  "+l.format, l.args...)
	}
	return text.String()
}

func (c *chooser) call(ctx context.Context, e *environment, p point, do func() error) error {
	if e.dead.Load() {
		runtime.Goexit()
	}
	c.interleave()
	a := c.choose(e.function, p)
	c.tell("%s %d: %v: %s", e.function, e.number, p, a.name)
	if a.cutOff {
		time.Sleep(time.Until(e.deadline.Add(-invocationMargin)))
		return errTimeout
	}
	c.fault = a.fault
	err := do()
	c.fault = dynamotest.Fault{}
	if a.crash {
		e.die()
	}
	return err
}

func (c *chooser) choose(f function, p point) accident {
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
