// Package start wires QueryFunction.
package start

import (
	"os"

	"flashsale/functions/query/handler"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/startup"
)

// Function serves the events of QueryFunction. It does not return.
func Function() {
	log, _, ledger := startup.Function("query")
	origin, err := httpapi.OriginFromEnv()
	log.FatalIf(err)
	link, err := handler.NewPaymentLink(os.Getenv("PAYMENT_URL"), os.Getenv("PAYMENT_LINK_KEY"), startup.Stack())
	log.FatalIf(err)
	h := handler.New(ledger, log, clock.Wall)
	h.Origin, h.PayLink = origin, link
	startup.Serve(log, httpapi.Serve(h.Handle))
}
