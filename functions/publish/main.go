// Command publish reads the table's stream and publishes every change of an order to the
// event bus.
package main

import (
	"flashsale/functions/publish/handler"
	"flashsale/shared/clock"
	"flashsale/shared/eventbus"
	"flashsale/shared/startup"
)

func main() {
	log, cfg := startup.AWS("publish")
	bus, noBus := eventbus.FromEnv(cfg)
	failures, noFailures := handler.FailureQueueFromEnv(cfg)
	log.FatalIf(noBus, noFailures)
	startup.Serve(log, startup.JSON(handler.New(bus, failures, log, clock.Wall).Handle))
}
