// Package start wires PublishFunction.
package start

import (
	"flashsale/functions/publish/handler"
	"flashsale/shared/clock"
	"flashsale/shared/eventbus"
	"flashsale/shared/startup"
)

// Function serves the events of PublishFunction. It does not return.
func Function() {
	log, cfg := startup.AWS("publish")
	bus, noBus := eventbus.FromEnv(cfg)
	failures, noFailures := handler.FailureQueueFromEnv(cfg)
	log.FatalIf(noBus, noFailures)
	startup.Serve(log, startup.JSON(handler.New(bus, failures, log, clock.Wall).Handle))
}
