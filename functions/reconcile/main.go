// Command reconcile handles every sale that is not drained: it resends order messages
// that must have been lost, and audits the books.
package main

import (
	"flashsale/functions/reconcile/handler"
	"flashsale/shared/clock"
	"flashsale/shared/orderq"
	"flashsale/shared/startup"
)

func main() {
	log, cfg, ledger := startup.Function("reconcile")
	queue, err := orderq.FromEnv(cfg)
	log.FatalIf(err)
	startup.Serve(log, startup.JSON(handler.New(ledger, queue, log, clock.Wall).Handle))
}
