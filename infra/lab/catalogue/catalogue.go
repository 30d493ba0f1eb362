// Package catalogue lists every strategy of the lab and the verdict that is
// expected of it in every scenario.
//
// Tests compare the verdicts with what is measured: the unsafe strategies really
// fail, the safe ones never do.
package catalogue

import (
	"maps"
	"slices"

	"flashsale/infra/lab/cache"
	"flashsale/infra/lab/inprocess"
	"flashsale/infra/lab/ours"
	"flashsale/infra/lab/shop"
	"flashsale/infra/lab/sql"
	"flashsale/infra/lab/tally"
)

// All are the lab's strategies, in the order of its table.
func All() []shop.Spec {
	return slices.Concat(inprocess.Specs(), sql.Specs(), cache.Specs(), []shop.Spec{inprocess.Shares()}, ours.Specs())
}

func Find(name string) (shop.Spec, bool) {
	all := All()
	i := slices.IndexFunc(all, func(s shop.Spec) bool { return s.Name == name })
	if i < 0 {
		return shop.Spec{}, false
	}
	return all[i], true
}

type expectation struct {
	// usual is the verdict in every scenario that is not in except.
	usual tally.Verdict
	// except are verdicts by scenario. More than one stand where a fault is
	// real and what it does to the buyers depends on the moment; the table says on what.
	except map[string][]tally.Verdict
}

func only(v tally.Verdict) []tally.Verdict { return []tally.Verdict{v} }

// merge is all of them; where they name the same scenario the last one counts.
func merge(all ...map[string][]tally.Verdict) map[string][]tally.Verdict {
	merged := map[string][]tally.Verdict{}
	for _, one := range all {
		maps.Copy(merged, one)
	}
	return merged
}

// Expected are the verdicts that a strategy may get in a scenario; none if the
// strategy is not in the table.
func Expected(strategy, scenario string) []tally.Verdict {
	e, ok := verdicts[strategy]
	if !ok {
		return nil
	}
	if some := e.except[scenario]; some != nil {
		return some
	}
	return only(e.usual)
}

func Meets(strategy, scenario string, v tally.Verdict) bool {
	return slices.Contains(Expected(strategy, scenario), v)
}
