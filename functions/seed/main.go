// Command seed handles the requests of schedules and operators: create a sale with its
// stock, add or withdraw units, pause, resume, reschedule, describe or recall it.
package main

import (
	"os"

	"flashsale/functions/seed/handler"
	"flashsale/shared/clock"
	"flashsale/shared/draw"
	"flashsale/shared/startup"
)

func main() {
	log, _, ledger := startup.Function("seed")
	times, noTimes := draw.TimesFromEnv()
	log.FatalIf(noTimes)
	h := handler.New(ledger, log, clock.Wall)
	h.Desk.ImageOrigin, h.Desk.DrawLead, h.Desk.Stripe = os.Getenv("IMAGE_ORIGIN"), times.Lead(), os.Getenv("STRIPE") != ""
	startup.Serve(log, startup.JSON(h.Handle))
}
