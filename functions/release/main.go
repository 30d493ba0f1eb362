// Command release takes back the units of orders that were not paid in time, of every
// sale that asks for payment, and puts them back on sale.
package main

import (
	"context"
	"errors"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"

	"flashsale/functions/release/handler"
	"flashsale/shared/clock"
	"flashsale/shared/ledger"
	"flashsale/shared/telemetry"
)

func main() {
	log := telemetry.New(os.Stdout, "release", clock.Wall)
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	cfg = log.Watch(cfg)
	book, noBook := ledger.FromEnv(cfg, clock.Wall)
	grace, noGrace := handler.GraceFromEnv()
	if err := errors.Join(noBook, noGrace); err != nil {
		log.Fatal(err)
	}
	lambda.Start(handler.New(book, grace, log).Handle)
}
