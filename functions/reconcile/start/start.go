// Package start wires ReconcileFunction.
package start

import (
	"flashsale/functions/reconcile/handler"
	"flashsale/shared/clock"
	"flashsale/shared/orderq"
	"flashsale/shared/startup"
)

// Function serves the events of ReconcileFunction. It does not return.
func Function() {
	log, cfg, ledger := startup.Function("reconcile")
	queue, err := orderq.FromEnv(cfg)
	log.FatalIf(err)
	startup.Serve(log, startup.JSON(handler.New(ledger, queue, log, clock.Wall).Handle))
}
