// Package start wires PayFunction.
package start

import (
	"flashsale/functions/pay/handler"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/startup"
)

// Function serves the events of PayFunction. It does not return.
func Function() {
	log, _, ledger := startup.Function("pay")
	providers, _ := handler.ProvidersFromEnv(clock.Wall) // New reports those that take nothing
	origin, noOrigin := httpapi.OriginFromEnv()
	log.FatalIf(noOrigin)
	h := handler.New(ledger, providers, log, clock.Wall)
	h.Origin, h.Stack = origin, startup.Stack()
	startup.Serve(log, httpapi.Serve(h.Handle))
}
