package catalogue

import "flashsale/infra/lab/tally"

// What every server knows by itself is right until their number changes or one
// of them dies.
var splitVerdicts = map[string]expectation{
	// A buyer whose server is down is led to another, which does not know the order: it sells
	// one more, or has none left. Whether one clicks again just then is chance.
	"split-shares": {tally.Holds, map[string][]tally.Verdict{
		"server-killed":     {tally.Doubles, tally.Holds},
		"winner-asks-again": {tally.Misleads, tally.Doubles},
	}},
	// Who dies, or hears no answer, between the set of buyers and the list of orders has a
	// buyer that is refused and has nothing; before that only the unit is lost. A winner
	// who asks again meets the flag. An order may be appended twice.
	"split-flag": {tally.Holds, map[string][]tally.Verdict{
		"server-killed":         {tally.Loses, tally.Undersells},
		"winner-asks-again":     {tally.Misleads, tally.Undersells},
		"engine-killed":         {tally.Undersells, tally.Loses, tally.Misleads},
		"answers-lost":          {tally.Oversells, tally.Doubles, tally.Loses, tally.Undersells},
		"fifteen-clicks-scarce": only(tally.Misleads),
	}},
	// A winner who asks again gets another one, or finds none; and a unit whose order is
	// missing is nobody's.
	"split-two-counters": {tally.Holds, map[string][]tally.Verdict{
		"server-killed":         only(tally.Doubles),
		"winner-asks-again":     {tally.Doubles, tally.Misleads, tally.Undersells, tally.Holds},
		"engine-killed":         {tally.Doubles, tally.Misleads, tally.Undersells},
		"answers-lost":          {tally.Oversells, tally.Doubles, tally.Undersells},
		"frozen-clicks":         only(tally.Doubles),
		"fifteen-clicks":        only(tally.Doubles),
		"fifteen-clicks-scarce": only(tally.Doubles),
	}},
}
