package catalogue

import "flashsale/infra/lab/tally"

// Every lock that expires lets a second buyer in when its owner stands still;
// what Redis has not saved is gone with it, orders included; and whoever takes a
// unit and records the order in two steps may die in between. Only a script that
// does both, on a Redis that saves each write, holds everywhere.
var cacheVerdicts = map[string]expectation{
	// The lock without an expiry outlives its owner. Who gets in before the other
	// servers die, or a little later, decides whether anybody is answered.
	"redis-setnx-expire": {tally.Holds, map[string][]tally.Verdict{
		"slow-check":    only(tally.Oversells),
		"server-killed": {tally.Stalls, tally.Undersells},
		"server-frozen": only(tally.Oversells),
		"engine-killed": only(tally.Loses),
	}},
	"redis-set-nx-ex": {tally.Holds, map[string][]tally.Verdict{
		"slow-check":    only(tally.Oversells),
		"server-killed": only(tally.Undersells),
		"server-frozen": only(tally.Oversells),
		"engine-killed": only(tally.Loses),
	}},
	// Without the blind delete few meet, and whether two of them meet within
	// the same few milliseconds is chance.
	"redis-token-unlock": {tally.Holds, map[string][]tally.Verdict{
		"slow-check":    {tally.Holds, tally.Oversells},
		"server-killed": only(tally.Undersells),
		"server-frozen": only(tally.Oversells),
		"engine-killed": only(tally.Loses),
	}},
	"redis-watchdog":  {tally.Holds, renewedVerdicts},
	"redis-reentrant": {tally.Holds, renewedVerdicts},
	"redis-pubsub":    {tally.Holds, renewedVerdicts},
	"redis-failover":  {tally.Holds, renewedVerdicts},
	// Nobody renews it, and asking a dead server takes time that it does not have.
	"redis-redlock": {tally.Holds, map[string][]tally.Verdict{
		"slow-check":    {tally.Holds, tally.Oversells},
		"server-killed": only(tally.Undersells),
		"server-frozen": only(tally.Oversells),
		"engine-killed": {tally.Holds, tally.Oversells},
	}},
	"redis-decr": {tally.Holds, map[string][]tally.Verdict{
		"server-killed":         only(tally.Undersells),
		"engine-killed":         only(tally.Loses),
		"fifteen-clicks":        only(tally.Doubles),
		"fifteen-clicks-scarce": only(tally.Doubles),
	}},
	"redis-hincrby": {tally.Holds, map[string][]tally.Verdict{
		"winner-asks-again": {tally.Loses, tally.Holds},
		"server-killed":     only(tally.Loses),
		"engine-killed":     only(tally.Loses),
	}},
	// The orders that wait in the servers outlive a Redis that dies with its
	// stock; one that was being carried may not.
	"redis-lua-queue": {tally.Holds, map[string][]tally.Verdict{
		"winner-asks-again": {tally.Loses, tally.Holds},
		"server-killed":     only(tally.Loses),
		"engine-killed":     {tally.Undersells, tally.Loses},
	}},
	"redis-lua-stream": {tally.Holds, map[string][]tally.Verdict{
		"engine-killed": {tally.Undersells, tally.Loses},
	}},
	"redis-lua-stream-aof": {tally.Holds, nil},
}

// renewedVerdicts are those of a lock that is renewed while its owner works.
var renewedVerdicts = map[string][]tally.Verdict{
	"server-killed": only(tally.Undersells),
	"server-frozen": only(tally.Oversells),
	"engine-killed": only(tally.Loses),
}
