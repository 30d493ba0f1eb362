package catalogue

import "flashsale/infra/lab/tally"

// One process protects itself well and is no protection for another: with a
// second one, added or there from the beginning, the same unit is sold twice.
var inprocessVerdicts = map[string]expectation{
	"channel-owner": {tally.Holds, map[string][]tally.Verdict{"server-added": only(tally.Oversells)}},
	"mutex-x3":      {tally.Oversells, unprotected},
}

// Whoever decides by an old read oversells wherever stock runs out.
var unprotected = map[string][]tally.Verdict{
	"fifteen-clicks": only(tally.Doubles),
	"peak":           only(tally.Holds),
}
