// Package start wires ReleaseFunction.
package start

import (
	"flashsale/functions/release/handler"
	"flashsale/shared/startup"
)

// Function serves the events of ReleaseFunction. It does not return.
func Function() {
	log, _, ledger := startup.Function("release")
	grace, noGrace := handler.GraceFromEnv()
	log.FatalIf(noGrace)
	startup.Serve(log, startup.JSON(handler.New(ledger, grace, log).Handle))
}
