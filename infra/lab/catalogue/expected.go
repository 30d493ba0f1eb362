package catalogue

import (
	"maps"
	"slices"

	"flashsale/infra/lab/tally"
)

// expectation is what verdicts a strategy may get.
type expectation struct {
	// usual is the verdict in every scenario that is not in except.
	usual tally.Verdict
	// except are verdicts by scenario. More than one stand where a fault is
	// real and what it does to the buyers depends on the moment; the table says on what.
	except map[string][]tally.Verdict
}

// only is the exception of one possible verdict.
func only(v tally.Verdict) []tally.Verdict { return []tally.Verdict{v} }

// merge is all of them; where they name the same scenario the last one counts.
func merge(all ...map[string][]tally.Verdict) map[string][]tally.Verdict {
	merged := map[string][]tally.Verdict{}
	for _, one := range all {
		maps.Copy(merged, one)
	}
	return merged
}

// expected merges the families' tables.
func expected() map[string]expectation {
	all := map[string]expectation{}
	for _, family := range []map[string]expectation{inprocessVerdicts, sqlVerdicts, cacheVerdicts, splitVerdicts, oursVerdicts} {
		maps.Copy(all, family)
	}
	return all
}

// Expected are the verdicts that a strategy may get in a scenario; none if the
// strategy is not in the table.
func Expected(strategy, scenario string) []tally.Verdict {
	e, ok := expected()[strategy]
	if !ok {
		return nil
	}
	if some := e.except[scenario]; some != nil {
		return some
	}
	return only(e.usual)
}

// Meets reports whether a verdict is expected.
func Meets(strategy, scenario string, v tally.Verdict) bool {
	return slices.Contains(Expected(strategy, scenario), v)
}
