// Command finalize takes order messages from the queue, gives each claim its
// global order id and confirms it.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/finalize/handler"
	"flashsale/shared/clock"
	"flashsale/shared/ledger"
	"flashsale/shared/startup"
	"flashsale/shared/telemetry"
)

func main() {
	log := telemetry.New(os.Stdout, "finalize", clock.Wall)
	cfg := startup.AWS(log)
	book, err := ledger.FromEnv(cfg, clock.Wall)
	log.FatalIf(err)
	lambda.Start(handler.New(book, log, clock.Wall))
}
