// Package start wires SeedFunction.
package start

import (
	"os"

	"flashsale/functions/seed/handler"
	"flashsale/shared/clock"
	"flashsale/shared/draw"
	"flashsale/shared/startup"
)

// Function serves the events of SeedFunction. It does not return.
func Function() {
	log, _, ledger := startup.Function("seed")
	times, noTimes := draw.TimesFromEnv()
	log.FatalIf(noTimes)
	h := handler.New(ledger, log, clock.Wall)
	h.Desk.ImageOrigin, h.Desk.DrawLead, h.Desk.Stripe = os.Getenv("IMAGE_ORIGIN"), times.Lead(), os.Getenv("STRIPE") != ""
	startup.Serve(log, startup.JSON(h.Handle))
}
