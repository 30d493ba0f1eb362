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
}
