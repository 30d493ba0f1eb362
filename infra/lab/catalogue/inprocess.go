package catalogue

import "flashsale/infra/lab/tally"

// One process protects itself well and is no protection for another: with a
// second one, added or there from the beginning, the same unit is sold twice.
// Ample stock alone forgives.
var inprocessVerdicts = map[string]expectation{
	"unprotected": {tally.Oversells, map[string][]tally.Verdict{
		"fifteen-clicks": only(tally.Doubles),
		"ample-stock":    only(tally.Holds),
		"peak":           only(tally.Holds),
	}},
	"unprotected-x3": {tally.Oversells, map[string][]tally.Verdict{
		"fifteen-clicks": only(tally.Doubles),
		"ample-stock":    only(tally.Holds),
		"peak":           only(tally.Holds),
	}},
	"mutex": {tally.Holds, map[string][]tally.Verdict{
		"server-killed": only(tally.Undersells),
		"server-added":  only(tally.Oversells),
	}},
	"mutex-x3": {tally.Oversells, map[string][]tally.Verdict{
		"fifteen-clicks": only(tally.Doubles),
		"ample-stock":    only(tally.Holds),
		"peak":           only(tally.Holds),
	}},
	"semaphore": {tally.Holds, map[string][]tally.Verdict{
		"frozen-clicks":         only(tally.Doubles),
		"server-added":          only(tally.Oversells),
		"fifteen-clicks":        only(tally.Doubles),
		"fifteen-clicks-scarce": only(tally.Doubles),
	}},
	"semaphore-x3": {tally.Oversells, map[string][]tally.Verdict{
		"fifteen-clicks": only(tally.Doubles),
		"ample-stock":    only(tally.Holds),
		"peak":           only(tally.Holds),
	}},
	"channel-owner": {tally.Holds, map[string][]tally.Verdict{
		"server-added": only(tally.Oversells),
	}},
	"channel-owner-x3": {tally.Oversells, map[string][]tally.Verdict{
		"fifteen-clicks": only(tally.Doubles),
		"ample-stock":    only(tally.Holds),
		"peak":           only(tally.Holds),
	}},
}
