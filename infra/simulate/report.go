package simulate

import (
	"fmt"
	"strings"
	"time"
)

// Total is what many seeds came to.
type Total struct {
	Seeds, Calls, Faults, Violations int
	Virtual                          time.Duration
}

// Add takes one seed in.
func (t *Total) Add(r Result) {
	t.Seeds++
	t.Calls += r.Calls
	t.Faults += r.Faults
	t.Virtual += r.Virtual
	t.Violations += r.Violations
}

// String is the one line that a simulation ends with: operations are the calls
// that the functions made to table and queue.
func (t Total) String() string {
	return fmt.Sprintf("seeds=%d operations=%d faults=%d virtual=%v violations=%d",
		t.Seeds, t.Calls, t.Faults, t.Virtual.Round(time.Second), t.Violations)
}

// maxShown bounds the violations that one seed shows: the first says most.
const maxShown = 5

// Report tells what was violated, how to see it again, and what came before.
func (r Result) Report() string {
	var text strings.Builder
	fmt.Fprintf(&text, "seed %d: %d violations\n", r.Seed, r.Violations)
	for _, v := range r.Shown {
		fmt.Fprintf(&text, "  %s\n", v)
	}
	fmt.Fprintf(&text, "again: go test ./infra/simulate -run '^TestSimulation$' -count=1 -seed=%d\n%s", r.Seed, r.Tail)
	return text.String()
}
