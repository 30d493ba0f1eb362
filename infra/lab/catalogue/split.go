package catalogue

import "flashsale/infra/lab/tally"

// What every server knows by itself is right until their number changes or one
// of them dies.
var splitVerdicts = map[string]expectation{
	// A buyer whose server is down is led to another, which does not know the
	// order; whether one clicks again just then is chance.
	"split-shares": {tally.Holds, map[string][]tally.Verdict{
		"server-killed":     {tally.Doubles, tally.Misleads, tally.Holds},
		"winner-asks-again": {tally.Misleads, tally.Doubles, tally.Holds},
	}},
	// Who dies between the set of buyers and the list of orders has a buyer
	// that is refused and has nothing; before that only the unit is lost.
	"split-flag": {tally.Holds, map[string][]tally.Verdict{
		"server-killed":         {tally.Undersells, tally.Loses, tally.Misleads},
		"winner-asks-again":     {tally.Undersells, tally.Loses, tally.Misleads, tally.Holds},
		"engine-killed":         {tally.Loses, tally.Undersells, tally.Misleads, tally.Holds},
		"answers-lost":          {tally.Doubles, tally.Undersells, tally.Loses, tally.Misleads, tally.Holds},
		"frozen-clicks":         {tally.Holds, tally.Undersells, tally.Misleads},
		"frozen-at-the-end":     {tally.Holds, tally.Misleads},
		"fifteen-clicks-scarce": {tally.Undersells, tally.Misleads},
	}},
	"split-two-counters": {tally.Holds, map[string][]tally.Verdict{
		"server-killed":         only(tally.Doubles),
		"winner-asks-again":     {tally.Doubles, tally.Misleads, tally.Holds},
		"engine-killed":         {tally.Undersells, tally.Doubles, tally.Misleads, tally.Holds},
		"answers-lost":          {tally.Oversells, tally.Doubles, tally.Undersells, tally.Holds},
		"frozen-clicks":         only(tally.Doubles),
		"fifteen-clicks":        only(tally.Doubles),
		"fifteen-clicks-scarce": only(tally.Doubles),
	}},
}
