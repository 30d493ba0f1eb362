// Command release takes back the units of orders that were not paid in time, of every
// sale that asks for payment, and puts them back on sale.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/release/handler"
	"flashsale/shared/clock"
	"flashsale/shared/ledger"
	"flashsale/shared/startup"
	"flashsale/shared/telemetry"
)

func main() {
	log := telemetry.New(os.Stdout, "release", clock.Wall)
	cfg := startup.AWS(log)
	book, noBook := ledger.FromEnv(cfg, clock.Wall)
	grace, noGrace := handler.GraceFromEnv()
	log.FatalIf(noBook, noGrace)
	lambda.Start(handler.New(book, grace, log).Handle)
}
