// Package ledgertest is the behaviour that the ledger shows over any DynamoDB:
// one suite, run over the in-process fake and over a real engine alike, so that
// neither can drift from the other.
//
// It uses the ledger from outside, the promises, and the table as its
// documentation describes it, and no particular engine.
package ledgertest

import (
	"testing"
	"testing/synctest"

	"flashsale/shared/ledger"
)

// Engine is a DynamoDB with one empty table of string keys pk and sk.
type Engine struct {
	API   ledger.API
	Table string
	// Between, if set, wraps the API for every ledger, but not for what the tests
	// themselves read and write.
	Between func(ledger.API) ledger.API
	// OneIn, if it is more than 1, is how many of the many interleavings of a behaviour one is tried of. Which ones there
	// are is up to the ledger: all of them are tried over the fake, and over an engine some, because its calls take longer.
	OneIn int
}

// Run runs the whole suite; each behaviour gets an engine of its own.
func Run(t *testing.T, newEngine func(t *testing.T) Engine) {
	run(t, newEngine, func(t *testing.T, behave func(*testing.T)) { behave(t) })
}

// RunInVirtualTime is Run over an engine in this process: no pause takes time, and
// a slow machine makes no call time out.
func RunInVirtualTime(t *testing.T, newEngine func(t *testing.T) Engine) {
	run(t, newEngine, synctest.Test)
}

func run(t *testing.T, newEngine func(t *testing.T) Engine, in func(*testing.T, func(*testing.T))) {
	for _, group := range []map[string]func(*testing.T, *World){
		creating, adding, withdrawing, editing, describing, changingConcurrently, trailing, grouping, versions,
		purchasing, units, unitsAfter, confirming, resending, reading, auditing, draining,
		paying, refunding, reportingMoney, releasing, extending, late, recalling, recallingPayments, cancelling, publishing,
		entering, rolling, calling, beginnings(), turning, editingDraws, combining,
		findingAPerson, erasing, archiving, replaying, replayingPayments,
	} {
		for name, test := range group {
			t.Run(name, func(t *testing.T) { in(t, func(t *testing.T) { test(t, NewWorld(t, newEngine(t))) }) })
		}
	}
}
