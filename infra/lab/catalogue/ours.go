package catalogue

import "flashsale/infra/lab/tally"

var oursVerdicts = map[string]expectation{
	"ours-ledger":         {tally.Holds, nil},
	"ours-ledger-new-key": {tally.Holds, nil},
	"ours-ledger-no-key":  {tally.Holds, keylessVerdicts},
	"ours-http":           {tally.Holds, nil},
}

// Without a key one read looks whether who asks again has won already. It is left out for
// a second after one that failed or took 0.3 s, which an accident of the engine or a busy
// machine brings about.
var keylessVerdicts = map[string][]tally.Verdict{
	"winner-asks-again":     {tally.Holds, tally.Misleads},
	"server-killed":         {tally.Holds, tally.Misleads},
	"answers-lost":          {tally.Holds, tally.Misleads},
	"engine-killed":         {tally.Holds, tally.Misleads},
	"fifteen-clicks-scarce": {tally.Holds, tally.Misleads},
}
