// Command finalize takes order messages from the queue, gives each claim its
// global order id and confirms it.
package main

import (
	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/finalize/handler"
	"flashsale/shared/clock"
	"flashsale/shared/startup"
)

func main() {
	log, _, ledger := startup.Function("finalize")
	lambda.Start(handler.New(ledger, log, clock.Wall))
}
