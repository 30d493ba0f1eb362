package tally

import (
	"fmt"
	"strings"
)

// Verdict is what a strategy's run amounts to: the worst of what was found.
type Verdict string

// The verdicts, worst first.
const (
	// Oversells: more orders than units.
	Oversells Verdict = "oversells"
	// Doubles: a user has more than one order.
	Doubles Verdict = "doubles"
	// Loses: a buyer was told yes and has no order.
	Loses Verdict = "loses"
	// Misleads: a buyer was told "sold out" and has an order.
	Misleads Verdict = "misleads"
	// Undersells: units are left and buyers were told "sold out".
	Undersells Verdict = "undersells"
	// Stalls: buyers never got a decision.
	Stalls Verdict = "stalls"
	// Holds: nothing was found.
	Holds Verdict = "holds"
	// NotRun: an engine is not installed.
	NotRun Verdict = "not run"
)

// Judge is the verdict on a count and one sentence that says why, from its
// figures only. accidents are what happened during the run.
func (c *Count) Judge(accidents []string) (Verdict, string) {
	var found []string
	verdict := Holds
	// The findings stand worst first, so the first one is the verdict.
	for _, f := range []struct {
		n       int
		verdict Verdict
		text    string
	}{
		{c.Oversold, Oversells, fmt.Sprintf("%d orders for %s, %d too many", c.Sold, units(c.Stock), c.Oversold)},
		{c.Doubles, Doubles, fmt.Sprintf("%s more than one order", have(c.Doubles))},
		{c.Lost, Loses, fmt.Sprintf("%s told yes without an order", were(c.Lost))},
		{c.Misled, Misleads, fmt.Sprintf("%s told \"sold out\" and %s an order", were(c.Misled), owns(c.Misled))},
		{min(c.Unsold, c.ToldSoldOut), Undersells, fmt.Sprintf("%d of %s left although %s told \"sold out\"", c.Stock-c.Sold, units(c.Stock), were(c.ToldSoldOut))},
		{c.Undecided, Stalls, fmt.Sprintf("%s no decision, with %d of %s left", got(c.Undecided), max(0, c.Stock-c.Sold), units(c.Stock))},
	} {
		if f.n == 0 {
			continue
		}
		if verdict == Holds {
			verdict = f.verdict
		}
		found = append(found, f.text)
	}
	if verdict == Holds {
		found = append(found, fmt.Sprintf("%d of %s sold, one per buyer, and everybody told so", c.Sold, units(c.Stock)))
	}
	if c.DurablePerSecond > 0 {
		found = append(found, fmt.Sprintf("%.0f accepted and %.0f durable orders a second, the last one durable %.1f s after its answer", c.PerSecond, c.DurablePerSecond, c.DurableAfter.Seconds()))
	}
	why := strings.Join(found, "; ")
	if len(accidents) > 0 {
		why += " (" + strings.Join(accidents, ", ") + ")"
	}
	return verdict, why
}

func units(n int) string { return plural(n, "1 unit", "units") }
func have(n int) string  { return plural(n, "1 buyer has", "buyers have") }
func owns(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}
func were(n int) string { return plural(n, "1 buyer was", "buyers were") }
func got(n int) string  { return plural(n, "1 buyer got", "buyers got") }

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf("%d %s", n, many)
}
