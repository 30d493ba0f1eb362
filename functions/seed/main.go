// Command seed handles the requests of schedules and operators: create a sale with its
// stock, add or withdraw units, pause, resume, reschedule, describe or recall it.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/seed/handler"
	"flashsale/shared/clock"
	"flashsale/shared/draw"
	"flashsale/shared/ledger"
	"flashsale/shared/startup"
	"flashsale/shared/telemetry"
)

func main() {
	log := telemetry.New(os.Stdout, "seed", clock.Wall)
	cfg := startup.AWS(log)
	book, noBook := ledger.FromEnv(cfg, clock.Wall)
	times, noTimes := draw.TimesFromEnv()
	log.FatalIf(noBook, noTimes)
	h := handler.New(book, log, clock.Wall)
	h.Desk.ImageOrigin, h.Desk.DrawLead, h.Desk.Stripe = os.Getenv("IMAGE_ORIGIN"), times.Lead(), os.Getenv("STRIPE") != ""
	lambda.Start(h.Handle)
}
