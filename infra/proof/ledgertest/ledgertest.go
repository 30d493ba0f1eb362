// Package ledgertest is the behaviour that the ledger shows over any DynamoDB:
// one suite, run over the in-process fake and over a real engine alike, so that
// neither can drift from the other.
//
// It uses the ledger from outside, the promises, and the table as its
// documentation describes it, and no particular engine.
package ledgertest

import (
	"maps"
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
	// Contended: calls are refused at random. Where interleavings are counted by their writes, they are tried elsewhere.
	Contended bool
}

// Run runs the whole suite; each behaviour gets an engine of its own.
func Run(t *testing.T, newEngine func(t *testing.T) Engine) {
	for name, test := range behaviours() {
		t.Run(name, func(t *testing.T) { test(t, NewWorld(t, newEngine(t))) })
	}
}

// RunInVirtualTime is Run over an engine in this process: no pause takes time, and
// a slow machine makes no call time out.
func RunInVirtualTime(t *testing.T, newEngine func(t *testing.T) Engine) {
	for name, run := range InVirtualTime(newEngine) {
		t.Run(name, run)
	}
}

// InVirtualTime are the behaviours that RunInVirtualTime runs, by their names.
func InVirtualTime(newEngine func(t *testing.T) Engine) map[string]func(*testing.T) {
	all := map[string]func(*testing.T){}
	for name, test := range behaviours() {
		all[name] = func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, NewWorld(t, newEngine(t))) })
		}
	}
	return all
}

func behaviours() map[string]func(*testing.T, *World) {
	all := map[string]func(*testing.T, *World){}
	for _, group := range []map[string]func(*testing.T, *World){
		creating, adding, withdrawing, editing, describing, changingConcurrently, trailing, grouping, versions,
		purchasing, units, unitsAfter, confirming, resending, reading, auditing, draining,
		paying, refunding, reportingMoney, sending, releasing, extending, late, recalling, recallingPayments, cancelling, publishing,
		entering, rolling, calling, beginnings(), turning, editingDraws, combining,
		findingAPerson, erasing, archiving, replaying, replayingPayments,
	} {
		maps.Copy(all, group)
	}
	return all
}
