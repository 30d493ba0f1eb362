// Command pay takes the webhooks of payment providers, and buyers' cancellations.
package main

import (
	"context"
	"errors"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"

	"flashsale/functions/pay/handler"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/telemetry"
)

func main() {
	log := telemetry.New(os.Stdout, "pay", clock.Wall)
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	cfg = log.Watch(cfg)
	book, noBook := ledger.FromEnv(cfg, clock.Wall)
	providers, noProviders := handler.ProvidersFromEnv(clock.Wall)
	origin, noOrigin := httpapi.OriginFromEnv()
	if err := errors.Join(noBook, noProviders, noOrigin); err != nil {
		log.Fatal(err)
	}
	h := handler.New(book, providers, log, clock.Wall)
	h.Origin = origin
	lambda.Start(httpapi.Serve(h.Handle))
}
