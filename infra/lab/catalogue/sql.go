package catalogue

import "flashsale/infra/lab/tally"

// What the database decides holds; what the application decides on an earlier
// read does not.
var sqlVerdicts = map[string]expectation{
	"sql-read-then-write": {tally.Oversells, unprotected},
	"sql-for-update":      {tally.Holds, nil},
	"sql-conditional": {tally.Holds, map[string][]tally.Verdict{
		"fifteen-clicks":        only(tally.Doubles),
		"fifteen-clicks-scarce": only(tally.Doubles),
		"frozen-clicks":         only(tally.Doubles),
	}},
	"sql-unique":                   {tally.Holds, nil},
	"sql-unique-failover":          {tally.Holds, map[string][]tally.Verdict{"engine-killed": only(tally.Loses)}},
	"sql-unique-failover-semisync": {tally.Holds, nil},
	"sql-batch":                    {tally.Holds, nil},
	"sql-lock-in-transaction":      {tally.Oversells, unprotected},
}
