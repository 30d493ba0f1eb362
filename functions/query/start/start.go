// Package start wires QueryFunction.
package start

import (
	"flashsale/functions/query/handler"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/ownclaim"
	"flashsale/shared/startup"
)

// Function serves the events of QueryFunction. It does not return.
func Function() {
	log, _, ledger := startup.Function("query")
	origin, err := httpapi.OriginFromEnv()
	log.FatalIf(err)
	link, err := ownclaim.PaymentLinkFromEnv(startup.Stack())
	log.FatalIf(err)
	h := handler.New(ledger, log, clock.Wall)
	h.Origin, h.PayLink = origin, link
	startup.Serve(log, httpapi.Serve(h.Handle))
}
