// Command reconcile handles every sale that is not drained: it resends order messages
// that must have been lost, and audits the books.
package main

import (
	"context"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"

	"flashsale/functions/reconcile/handler"
	"flashsale/shared/clock"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/telemetry"
)

func main() {
	log := telemetry.New(os.Stdout, "reconcile", clock.Wall)
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	cfg = log.Watch(cfg)
	book, err := ledger.FromEnv(cfg, clock.Wall)
	if err != nil {
		log.Fatal(err)
	}
	queue, err := orderq.FromEnv(cfg)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(handler.New(book, queue, log, clock.Wall).Handle)
}
