// Command publish reads the table's stream and publishes every change of an order to the
// event bus.
package main

import (
	"context"
	"errors"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"

	"flashsale/functions/publish/handler"
	"flashsale/shared/clock"
	"flashsale/shared/eventbus"
	"flashsale/shared/telemetry"
)

func main() {
	log := telemetry.New(os.Stdout, "publish", clock.Wall)
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	cfg = log.Watch(cfg)
	bus, noBus := eventbus.FromEnv(cfg)
	failures, noFailures := handler.FailureQueueFromEnv(cfg)
	if err := errors.Join(noBus, noFailures); err != nil {
		log.Fatal(err)
	}
	lambda.Start(handler.New(bus, failures, log, clock.Wall).Handle)
}
