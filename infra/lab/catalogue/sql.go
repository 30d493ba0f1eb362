package catalogue

import "flashsale/infra/lab/tally"

// What the database decides holds; what the application decides on an earlier
// read does not.
var sqlVerdicts = map[string]expectation{
	"sql-read-then-write": {tally.Oversells, map[string][]tally.Verdict{
		"fifteen-clicks": only(tally.Doubles),
		"ample-stock":    only(tally.Holds),
	}},
	"sql-for-update": {tally.Holds, nil},
	"sql-version":    {tally.Holds, nil},
	"sql-conditional": {tally.Holds, map[string][]tally.Verdict{
		"fifteen-clicks":        only(tally.Doubles),
		"fifteen-clicks-scarce": only(tally.Doubles),
	}},
	"sql-unique":                {tally.Holds, nil},
	"sql-lock-then-transaction": {tally.Holds, nil},
	"sql-lock-in-transaction": {tally.Oversells, map[string][]tally.Verdict{
		"fifteen-clicks": only(tally.Doubles),
		"ample-stock":    only(tally.Holds),
	}},
}
