package catalogue

import "flashsale/infra/lab/tally"

// A process that dies between the unit and its order leaves a unit that nobody has, and
// so does a client library that repeats a decrement whose answer was lost.
var twoSteps = map[string][]tally.Verdict{
	"server-killed":     {tally.Undersells, tally.Stalls, tally.Holds},
	"winner-asks-again": {tally.Holds, tally.Undersells},
	"engine-killed":     {tally.Undersells, tally.Holds},
	// The client repeats what it got no answer to: a DECR, an order, or a DEL that then
	// deletes somebody else's lock.
	"answers-lost": {tally.Holds, tally.Undersells, tally.Doubles, tally.Oversells},
}

// What Redis has not saved dies with it. Its lock does, too, and whatever was sold twice
// then may be more than there was.
var forgets = map[string][]tally.Verdict{
	"engine-killed": {tally.Loses, tally.Oversells},
}

// A lock that expires lets the next one in while its owner stands still. Each who has
// compared before takes a unit: that is one too many when the last units go, and none
// before. Whether a user's other click is let in is chance.
var expires = map[string][]tally.Verdict{
	"server-frozen":     {tally.Holds, tally.Oversells},
	"frozen-at-the-end": {tally.Oversells, tally.Holds, tally.Stalls},
	// The engine's clock says when a lock expires. Whether others sell the rest while its
	// owner still counts on it is a race.
	"engine-clock-jumps":    {tally.Oversells, tally.Holds},
	"frozen-clicks":         {tally.Doubles, tally.Holds},
	"fifteen-clicks":        {tally.Holds, tally.Doubles},
	"fifteen-clicks-scarce": {tally.Holds, tally.Doubles},
}

// RedLock survives one wrong clock of three, as it does one dead server; and the engine's
// clock is nothing to a lock that its servers date.
var otherClocks = map[string][]tally.Verdict{"engine-clock-jumps": only(tally.Holds)}

// Without a renewal a slow user check does the same.
var outlived = map[string][]tally.Verdict{
	"slow-check": {tally.Holds, tally.Oversells, tally.Stalls},
	"last-units": {tally.Oversells, tally.Holds},
}

// A write that was meant for an older stock brings back everything sold meanwhile.
var bringsBack = map[string][]tally.Verdict{
	"server-frozen":     only(tally.Oversells),
	"engine-killed":     {tally.Oversells, tally.Undersells, tally.Holds},
	"frozen-at-the-end": {tally.Oversells, tally.Holds},
	"frozen-clicks":     {tally.Oversells, tally.Doubles, tally.Holds},
}

// One buyer at a time, and on a loaded machine some wait for longer than they have.
var slow = map[string][]tally.Verdict{
	"slow-check":   {tally.Holds, tally.Stalls},
	"scarce-stock": {tally.Holds, tally.Stalls},
}

// A counter looks for the buyer before: clicks that come at once each take a unit.
var looksBefore = map[string][]tally.Verdict{
	"fifteen-clicks":        only(tally.Doubles),
	"fifteen-clicks-scarce": only(tally.Doubles),
	"frozen-clicks":         {tally.Doubles, tally.Holds},
}

// Orders that wait in memory die with their process, and a script whose answer was lost
// has sold a unit for which no order waits.
var queued = map[string][]tally.Verdict{
	"server-killed":     only(tally.Loses),
	"winner-asks-again": {tally.Loses, tally.Holds},
	"answers-lost":      {tally.Loses, tally.Undersells, tally.Holds},
}

var failedOver = map[string][]tally.Verdict{
	"engine-killed":     {tally.Loses, tally.Oversells, tally.Undersells, tally.Holds},
	"frozen-at-the-end": {tally.Oversells, tally.Holds, tally.Stalls},
}

var cacheVerdicts = map[string]expectation{
	"redis-setnx-expire": {tally.Holds, merge(twoSteps, expires, outlived, map[string][]tally.Verdict{
		"server-killed": {tally.Stalls, tally.Undersells},
		// The answer to SETNX is lost, and nobody gives the lock an expiry.
		"answers-lost": {tally.Stalls, tally.Holds, tally.Undersells, tally.Doubles, tally.Oversells},
	})},
	"redis-set-nx-ex": {tally.Holds, merge(twoSteps, expires, outlived)},
	"redis-set-nx-ex-set": {tally.Holds, merge(twoSteps, expires, bringsBack, map[string][]tally.Verdict{
		"slow-check": only(tally.Oversells),
		"last-units": only(tally.Oversells),
		// Now and then two are inside, and who writes late brings a unit back.
		"server-killed": {tally.Undersells, tally.Oversells, tally.Holds},
	})},
	"redis-token-unlock": {tally.Holds, merge(twoSteps, expires, outlived)},
	// Nobody breaks into a lock of the server that is ahead: if it has the last unit's, nothing
	// is oversold.
	"redis-getset": {tally.Holds, merge(twoSteps, expires, outlived, otherClocks, map[string][]tally.Verdict{
		"server-clock-jumps": {tally.Oversells, tally.Holds},
	})},
	"redis-token-decides": {tally.Holds, merge(twoSteps, slow, map[string][]tally.Verdict{
		"frozen-clicks": {tally.Holds, tally.Doubles},
	})},
	"redis-watchdog":           {tally.Holds, merge(twoSteps, slow, expires)},
	"redis-watchdog-set":       {tally.Holds, merge(twoSteps, slow, expires, bringsBack)},
	"redis-watchdog-snapshots": {tally.Holds, merge(twoSteps, slow, expires, forgets)},
	"redis-fenced-set": {tally.Holds, merge(twoSteps, slow, map[string][]tally.Verdict{
		"frozen-clicks": {tally.Holds, tally.Doubles},
	})},
	"redis-reentrant":             {tally.Holds, merge(twoSteps, slow, expires)},
	"redis-pubsub":                {tally.Holds, merge(twoSteps, slow, expires)},
	"redis-redlock":               {tally.Holds, merge(twoSteps, expires, outlived, otherClocks)},
	"redis-redlock-renewed":       {tally.Holds, merge(twoSteps, slow, expires, otherClocks)},
	"redis-failover":              {tally.Holds, merge(twoSteps, slow, expires, failedOver)},
	"redis-failover-min-replicas": {tally.Holds, merge(twoSteps, slow, expires, failedOver)},
	"redis-failover-wait":         {tally.Holds, merge(twoSteps, slow, expires, failedOver)},
	"redis-decr":                  {tally.Holds, merge(twoSteps, looksBefore)},
	"redis-decr-snapshots":        {tally.Holds, merge(twoSteps, looksBefore, forgets)},
	// Its counter of clicks shuts the buyer out.
	"redis-hincrby": {tally.Holds, map[string][]tally.Verdict{
		"server-killed":     only(tally.Loses),
		"winner-asks-again": {tally.Loses, tally.Holds},
		"engine-killed":     {tally.Loses, tally.Holds},
		"answers-lost":      {tally.Loses, tally.Undersells, tally.Doubles, tally.Oversells, tally.Holds},
	}},
	"redis-user-lock": {tally.Holds, map[string][]tally.Verdict{
		"frozen-clicks": {tally.Doubles, tally.Holds},
	}},
	"redis-lua-queue":            {tally.Holds, merge(queued, map[string][]tally.Verdict{"engine-killed": {tally.Holds, tally.Loses, tally.Oversells}})},
	"redis-lua-queue-rebuilt":    {tally.Holds, merge(queued, map[string][]tally.Verdict{"engine-killed": {tally.Holds, tally.Loses}})},
	"redis-lua-stream":           {tally.Holds, forgets},
	"redis-lua-stream-rebuilt":   {tally.Holds, map[string][]tally.Verdict{"engine-killed": only(tally.Loses)}},
	"redis-lua-stream-aof":       {tally.Holds, nil},
	"redis-lua-always":           {tally.Holds, nil},
	"redis-failover-stream":      {tally.Holds, map[string][]tally.Verdict{"engine-killed": only(tally.Loses)}},
	"redis-failover-stream-wait": {tally.Holds, map[string][]tally.Verdict{"engine-killed": {tally.Loses, tally.Misleads, tally.Holds}}},
}
