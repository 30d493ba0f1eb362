// Command reconcile handles every sale that is not drained: it resends order messages
// that must have been lost, and audits the books.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/reconcile/handler"
	"flashsale/shared/clock"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/startup"
	"flashsale/shared/telemetry"
)

func main() {
	log := telemetry.New(os.Stdout, "reconcile", clock.Wall)
	cfg := startup.AWS(log)
	book, err := ledger.FromEnv(cfg, clock.Wall)
	log.FatalIf(err)
	queue, err := orderq.FromEnv(cfg)
	log.FatalIf(err)
	lambda.Start(handler.New(book, queue, log, clock.Wall).Handle)
}
