// Command pay takes the webhooks of payment providers, and buyers' cancellations.
package main

import (
	"flashsale/functions/pay/handler"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/startup"
)

func main() {
	log, _, ledger := startup.Function("pay")
	providers, _ := handler.ProvidersFromEnv(clock.Wall) // New reports those that take nothing
	origin, noOrigin := httpapi.OriginFromEnv()
	log.FatalIf(noOrigin)
	h := handler.New(ledger, providers, log, clock.Wall)
	h.Origin = origin
	startup.Serve(log, httpapi.Serve(h.Handle))
}
