// Command release takes back the units of orders that were not paid in time, of every
// sale that asks for payment, and puts them back on sale.
package main

import (
	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/release/handler"
	"flashsale/shared/startup"
)

func main() {
	log, _, ledger := startup.Function("release")
	grace, noGrace := handler.GraceFromEnv()
	log.FatalIf(noGrace)
	lambda.Start(handler.New(ledger, grace, log).Handle)
}
