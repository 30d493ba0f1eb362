package explore

import (
	"fmt"
	"strings"
	"time"

	"flashsale/infra/proof/harness"
)

// Total is the result of many seeds.
type Total struct {
	Seeds, Sales, Calls, Faults, Freezes, Resent, Violations int
	Paid, Refunds, Released                                  int
	Published                                                harness.EventFigures
	Draws                                                    DrawFigures
	Restores                                                 RestoreFigures
	Longest, Virtual                                         time.Duration
	// Hash is the sum of the seeds' hashes, independent of the order in which they ran.
	Hash uint64
}

// Add adds one seed's result.
func (t *Total) Add(r Result) {
	t.Seeds++
	t.Calls += r.Calls
	t.Sales += r.Sales
	t.Faults += r.Faults
	t.Freezes += r.Freezes
	t.Resent += r.Resent
	t.Paid, t.Refunds, t.Released = t.Paid+r.Paid, t.Refunds+r.Refunds, t.Released+r.Released
	t.Longest = max(t.Longest, r.Longest)
	t.Published.Add(r.Published)
	t.Draws.add(r.Draws)
	t.Restores.add(r.Restores)
	t.Virtual += r.Virtual
	t.Violations += r.Violations
	t.Hash += r.Hash
}

// String is the last line of a simulation's output: operations are the functions' calls
// to table and queue, paid, refunds and released the orders that were paid, the payments
// to be refunded and the claims that were released, resent the order messages that were lost and resent, and
// longest-loss the longest time from such a loss to the next message while nothing
// disturbed reconciliation. events are the order events, duplicates how often one was
// published again, poison the records that can never be published, and longest-delay the
// longest time from a change to its event.
func (t Total) String() string {
	return fmt.Sprintf("seeds=%d sales=%d operations=%d faults=%d freezes=%d paid=%d refunds=%d released=%d resent=%d longest-loss=%v (bound %v) %v %v %v virtual=%.1fh hash=%016x violations=%d",
		t.Seeds, t.Sales, t.Calls, t.Faults, t.Freezes, t.Paid, t.Refunds, t.Released, t.Resent, t.Longest.Round(time.Second), resendBound, t.Published, t.Draws, t.Restores, t.Virtual.Hours(), t.Hash, t.Violations)
}

// maxShown bounds the violations shown per seed: the first is the most useful.
const maxShown = 5

// Report returns the violations, how to reproduce them, and the last events before
// them.
func (r Result) Report() string {
	var text strings.Builder
	fmt.Fprintf(&text, "seed %d: %d violations\n", r.Seed, r.Violations)
	for _, v := range r.Shown {
		fmt.Fprintf(&text, "  %s\n", v)
	}
	fmt.Fprintf(&text, "again: go test ./infra/proof/explore -run '^TestSimulation$' -count=1 -seed=%d\n%s", r.Seed, r.Tail)
	return text.String()
}
