// Command pay takes the webhooks of payment providers, and buyers' cancellations.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/pay/handler"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/startup"
	"flashsale/shared/telemetry"
)

func main() {
	log := telemetry.New(os.Stdout, "pay", clock.Wall)
	cfg := startup.AWS(log)
	book, noBook := ledger.FromEnv(cfg, clock.Wall)
	providers, _ := handler.ProvidersFromEnv(clock.Wall) // New reports those that take nothing
	origin, noOrigin := httpapi.OriginFromEnv()
	log.FatalIf(noBook, noOrigin)
	h := handler.New(book, providers, log, clock.Wall)
	h.Origin = origin
	lambda.Start(httpapi.Serve(h.Handle))
}
