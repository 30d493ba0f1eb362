package catalogue

import "flashsale/infra/lab/tally"

// What the database decides holds; what the application decides on an earlier
// read does not.
var sqlVerdicts = map[string]expectation{
	"sql-read-then-write": {tally.Oversells, map[string][]tally.Verdict{
		"fifteen-clicks": only(tally.Doubles),
		"ample-stock":    only(tally.Holds),
		"peak":           only(tally.Holds),
	}},
	"sql-for-update":              {tally.Holds, nil},
	"sql-for-update-check-inside": {tally.Holds, nil},
	// Who loses five times tries again later: on a loaded machine some never win.
	"sql-version": {tally.Holds, map[string][]tally.Verdict{"server-added": {tally.Holds, tally.Stalls}}},
	"sql-conditional": {tally.Holds, map[string][]tally.Verdict{
		"fifteen-clicks":        only(tally.Doubles),
		"fifteen-clicks-scarce": only(tally.Doubles),
		"frozen-clicks":         only(tally.Doubles),
	}},
	"sql-unique":                   {tally.Holds, nil},
	"sql-unique-failover":          {tally.Holds, map[string][]tally.Verdict{"engine-killed": only(tally.Loses)}},
	"sql-unique-failover-semisync": {tally.Holds, nil},
	"sql-rows":                     {tally.Holds, nil},
	"sql-split":                    {tally.Holds, nil},
	"sql-batch":                    {tally.Holds, nil},
	"sql-outbox":                   {tally.Holds, nil},
	"sql-lock-then-transaction":    {tally.Holds, nil},
	"sql-lock-in-transaction": {tally.Oversells, map[string][]tally.Verdict{
		"fifteen-clicks": only(tally.Doubles),
		"ample-stock":    only(tally.Holds),
		"peak":           only(tally.Holds),
	}},
}
