package catalogue

import "flashsale/infra/lab/tally"

// verdicts are those of every strategy. Where more than one stands, five seeds or more had
// each of them, or the reason is given.
var verdicts = map[string]expectation{
	// One process protects itself well and is no protection for another: with a second one,
	// added or there from the beginning, the same unit is sold twice.
	"channel-owner": {tally.Holds, map[string][]tally.Verdict{"server-added": only(tally.Oversells)}},
	"mutex-x3":      {tally.Oversells, unprotected},

	// What the database decides holds; what the application decides on an earlier read does not.
	"sql-read-then-write": {tally.Oversells, unprotected},
	"sql-for-update":      {tally.Holds, nil},
	"sql-conditional": {tally.Holds, map[string][]tally.Verdict{
		"fifteen-clicks":        only(tally.Doubles),
		"fifteen-clicks-scarce": only(tally.Doubles),
		"frozen-clicks":         only(tally.Doubles),
	}},
	"sql-version-once":        {tally.Undersells, overtakes},
	"sql-version":             {tally.Holds, merge(slow, again)},
	"sql-unique":              {tally.Holds, nil},
	"sql-row-per-unit":        {tally.Holds, nil},
	"sql-batch":               {tally.Holds, nil},
	"sql-two-above-zero":      {tally.Oversells, nil},
	"sql-two":                 {tally.Holds, nil},
	"postgres-unique":         {tally.Holds, nil},
	"postgres-batch":          {tally.Holds, nil},
	"sql-lock-in-transaction": {tally.Oversells, unprotected},

	"redis-set-nx-ex": {tally.Holds, merge(twoSteps, expires, blindly)},
	"redis-set-nx-ex-set": {tally.Holds, merge(twoSteps, expires, bringsBack, map[string][]tally.Verdict{
		"slow-check": only(tally.Oversells),
		"last-units": only(tally.Oversells),
		// Now and then two are inside, and who writes late brings a unit back.
		"winner-asks-again": {tally.Holds, tally.Oversells},
		"answers-lost":      {tally.Holds, tally.Undersells, tally.Oversells},
	})},
	"redis-token-unlock": {tally.Holds, merge(twoSteps, expires)},
	"redis-token-decides": {tally.Holds, merge(twoSteps, slow, map[string][]tally.Verdict{
		"frozen-clicks": {tally.Doubles, tally.Holds},                     // as for all locks
		"answers-lost":  {tally.Undersells, tally.Holds, tally.Oversells}, // as for all counters
	})},
	"redis-watchdog":   {tally.Holds, merge(twoSteps, slow, expires)},
	"redis-fenced-set": {tally.Holds, merge(twoSteps, slow)},
	"redis-redlock":    {tally.Holds, merge(twoSteps, slow, expires, trio)},
	"redis-failover": {tally.Holds, merge(twoSteps, slow, expires, map[string][]tally.Verdict{
		// The orders that the replica never got; or the primary dies between a unit and its
		// order, and the client repeats the order on the new one, which has not sold the unit.
		"engine-killed": {tally.Loses, tally.Oversells},
	})},
	"redis-decr":      {tally.Holds, merge(twoSteps, looksBefore)},
	"redis-lua-queue": {tally.Holds, queued},
	// Something is accepted and not yet in the database, or nothing is.
	"redis-lua-stream": {tally.Holds, map[string][]tally.Verdict{"engine-killed": {tally.Loses, tally.Holds}}},
	"redis-lua-always": {tally.Holds, nil},
	"redis-lua-alone":  {tally.Holds, nil},
	"redis-pop-two":    {tally.Oversells, nil},
	"redis-lua-two":    {tally.Holds, nil},

	// What every server knows by itself is right until their number changes or one of them dies.
	// A buyer whose server is down is led to another, which does not know the order: it sells
	// one more, or has none left. Whether one clicks again just then is chance.
	"split-shares": {tally.Holds, map[string][]tally.Verdict{
		"server-killed":     {tally.Doubles, tally.Misleads, tally.Holds},
		"winner-asks-again": {tally.Misleads, tally.Doubles},
	}},

	"ours-ledger":        {tally.Holds, nil},
	"ours-ledger-no-key": {tally.Holds, keylessVerdicts},
	"ours-ledger-two":    {tally.Holds, nil},
}

// Whoever decides by an old read oversells wherever stock runs out.
var unprotected = map[string][]tally.Verdict{
	"fifteen-clicks": only(tally.Doubles),
}

// A process that dies between the unit and its order leaves a unit that nobody has.
var twoSteps = map[string][]tally.Verdict{
	"server-killed": only(tally.Undersells),
	// The client repeats for a while: Redis is back by then, or the unit has no order.
	"engine-killed": {tally.Undersells, tally.Holds},
	// The client repeats what it got no answer to. If that was a DECR, two units are gone.
	"answers-lost": {tally.Holds, tally.Undersells},
}

// A lock that expires lets the next one in while its owner stands still. Each who has
// compared before takes a unit: that is one too many when the last units go, and none
// before.
var expires = map[string][]tally.Verdict{
	// Whether others sell the rest while the owner stands still is a race.
	"frozen-at-the-end": {tally.Oversells, tally.Holds},
	// The next one in is the user's other click, or another buyer.
	"frozen-clicks": {tally.Doubles, tally.Holds},
}

// RedLock survives one dead server of three. It asks servers that sync each write, and waits 50 to
// 250 ms between two tries: on a loaded machine some wait for longer than they have.
var trio = map[string][]tally.Verdict{
	"engine-killed": {tally.Undersells, tally.Holds, tally.Stalls},
}

// Who deletes somebody else's lock lets in a third, and so on until the sale ends: how many
// are inside when the last unit goes is chance.
var blindly = map[string][]tally.Verdict{
	"slow-check": {tally.Holds, tally.Oversells},
	"last-units": {tally.Oversells, tally.Holds},
}

// A write that was meant for an older stock brings back everything sold meanwhile, and the
// unit of a dead process with it.
var bringsBack = map[string][]tally.Verdict{
	"server-killed":     {tally.Undersells, tally.Oversells, tally.Holds},
	"engine-killed":     {tally.Oversells, tally.Undersells, tally.Holds},
	"frozen-clicks":     {tally.Oversells, tally.Doubles},
	"frozen-at-the-end": only(tally.Oversells),
}

// Whoever is overtaken hears "sold out", also a click of a buyer whose other click gets a unit. The units last until the end
// only if few come at once: at the end of the slow checks, after an accident, or on a fast machine.
var overtakes = map[string][]tally.Verdict{
	"calm":                  {tally.Undersells, tally.Holds},
	"frozen-at-the-end":     {tally.Undersells, tally.Holds},
	"last-units":            {tally.Undersells, tally.Holds},
	"winner-asks-again":     {tally.Undersells, tally.Holds},
	"frozen-clicks":         {tally.Misleads, tally.Undersells},
	"fifteen-clicks":        {tally.Misleads, tally.Undersells},
	"fifteen-clicks-scarce": {tally.Misleads, tally.Holds},
}

// Many at once need many tries for a unit each: on a loaded machine some have no more time, and hear "busy" to the end.
var again = map[string][]tally.Verdict{
	"engine-killed": {tally.Holds, tally.Stalls},
	"frozen-clicks": {tally.Holds, tally.Stalls},
	"server-added":  {tally.Holds, tally.Stalls},
}

// One buyer at a time, and on a loaded machine some wait for longer than they have.
var slow = map[string][]tally.Verdict{
	"slow-check": {tally.Holds, tally.Stalls},
}

// A counter looks for the buyer before: clicks that come at once each take a unit. Whether
// another buyer is between the unit and the order when the winner's server dies is chance.
var looksBefore = map[string][]tally.Verdict{
	"winner-asks-again": {tally.Undersells, tally.Holds},
	// That of the INCR that puts back, too: one more is sold than there is.
	"answers-lost":          {tally.Undersells, tally.Holds, tally.Oversells},
	"fifteen-clicks":        only(tally.Doubles),
	"fifteen-clicks-scarce": only(tally.Doubles),
	"frozen-clicks":         only(tally.Doubles),
}

// Orders that wait in memory die with their process, if any wait; and a script whose answer
// was lost has sold a unit for which no order waits.
var queued = map[string][]tally.Verdict{
	"server-killed":     only(tally.Loses),
	"winner-asks-again": {tally.Loses, tally.Holds},
	"answers-lost":      only(tally.Loses),
	"engine-killed":     {tally.Holds, tally.Loses},
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
