// Command seed handles the requests of schedules and operators: create a sale with its
// stock, add or withdraw units, pause, resume, reschedule, describe or recall it.
package main

import (
	"context"
	"errors"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"

	"flashsale/functions/seed/handler"
	"flashsale/shared/clock"
	"flashsale/shared/draw"
	"flashsale/shared/ledger"
	"flashsale/shared/telemetry"
)

func main() {
	log := telemetry.New(os.Stdout, "seed", clock.Wall)
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	cfg = log.Watch(cfg)
	book, noBook := ledger.FromEnv(cfg, clock.Wall)
	times, noTimes := draw.TimesFromEnv()
	if err := errors.Join(noBook, noTimes); err != nil {
		log.Fatal(err)
	}
	h := handler.New(book, log, clock.Wall)
	h.Desk.ImageOrigin, h.Desk.DrawLead, h.Desk.Stripe = os.Getenv("IMAGE_ORIGIN"), times.Lead(), os.Getenv("STRIPE") != ""
	lambda.Start(h.Handle)
}
