package catalogue

import "flashsale/infra/lab/tally"

var oursVerdicts = map[string]expectation{
	"ours-ledger":         {tally.Holds, nil},
	"ours-ledger-new-key": {tally.Holds, nil},
	"ours-http":           {tally.Holds, nil},
	"ours-http-new-key":   {tally.Holds, nil},
	"ours-ledger-no-key":  {tally.Holds, keylessVerdicts},
	"ours-http-no-key":    {tally.Holds, keylessVerdicts},
}

// Without a key nobody looks whether who asks again has won already. Whether a
// winner asks again after the sale has sold out is chance.
var keylessVerdicts = map[string][]tally.Verdict{
	"winner-asks-again":     {tally.Misleads, tally.Holds},
	"server-killed":         {tally.Holds, tally.Misleads},
	"answers-lost":          {tally.Holds, tally.Misleads},
	"engine-killed":         {tally.Holds, tally.Misleads},
	"fifteen-clicks-scarce": {tally.Holds, tally.Misleads},
}
