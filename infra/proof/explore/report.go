package explore

import (
	"fmt"
	"strings"
	"time"
)

// counters are what simulations count, in the order of their last line: operations are the functions'
// calls to table and queue, paid, refunds and released the orders that were paid, the payments to be
// refunded and the claims that were released, extended the edits that gave more time, resent the order messages that reconciliation sent again.
// Events are the order events, duplicates how often one was published again. Refused-changes are what a
// sale does not allow, cancelled-orders those that the office has cancelled, halves transactions that a restore takes back in part, cut-offs those of the
// replay, and replayed-ends payments, releases and refunds.
var counters = []string{
	"sales", "operations", "faults", "freezes", "paid", "refunds", "released", "resent", "events", "duplicates",
	"entries", "entries-too-late", "rolls", "calls", "called", "moved", "open-calls", "not-your-turn", "turn-over",
	"refused-changes", "extended", "cancelled-orders", "restores", "halves", "cut-offs", "replayed-claims", "replayed-orders", "replayed-ends", "violations",
}

// Total is the result of many seeds.
type Total struct {
	Seeds   int
	Counts  map[string]int
	Virtual time.Duration
	// Hash is the sum of the seeds' hashes, independent of the order in which they ran.
	Hash uint64
}

// Add adds one seed's result.
func (t *Total) Add(r Result) {
	t.Seeds++
	for name, n := range r.Counts {
		t.Counts[name] += n
	}
	t.Virtual += r.Virtual
	t.Hash += r.Hash
}

// String is the last line of a simulation's output.
func (t Total) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "seeds=%d virtual=%.1fh hash=%016x", t.Seeds, t.Virtual.Hours(), t.Hash)
	for _, name := range counters {
		fmt.Fprintf(&text, " %s=%d", name, t.Counts[name])
	}
	return text.String()
}

// maxShown bounds the violations shown per seed: the first is the most useful.
const maxShown = 5

// Report returns the violations, how to reproduce them, and the last events before
// them.
func (r Result) Report() string {
	return fmt.Sprintf("seed %d: %d violations\n  %s\nagain: go test ./infra/proof/explore -run '^TestSimulation$' -count=1 -seed=%d\n%s",
		r.Seed, r.Counts["violations"], strings.Join(r.Shown, "\n  "), r.Seed, r.Tail)
}
