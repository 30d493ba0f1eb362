// Package start wires FinalizeFunction.
package start

import (
	"flashsale/functions/finalize/handler"
	"flashsale/shared/clock"
	"flashsale/shared/startup"
)

// Function serves the events of FinalizeFunction. It does not return.
func Function() {
	log, _, ledger := startup.Function("finalize")
	startup.Serve(log, handler.New(ledger, log, clock.Wall))
}
