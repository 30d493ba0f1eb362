// Command publish reads the table's stream and publishes every change of an order to the
// event bus.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/publish/handler"
	"flashsale/shared/clock"
	"flashsale/shared/eventbus"
	"flashsale/shared/startup"
	"flashsale/shared/telemetry"
)

func main() {
	log := telemetry.New(os.Stdout, "publish", clock.Wall)
	cfg := startup.AWS(log)
	bus, noBus := eventbus.FromEnv(cfg)
	failures, noFailures := handler.FailureQueueFromEnv(cfg)
	log.FatalIf(noBus, noFailures)
	lambda.Start(handler.New(bus, failures, log, clock.Wall).Handle)
}
