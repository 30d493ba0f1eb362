// Command release takes back the units of orders that were not paid in time, of every
// sale that asks for payment, and puts them back on sale.
package main

import (
	"flashsale/functions/release/handler"
	"flashsale/shared/startup"
)

func main() {
	log, _, ledger := startup.Function("release")
	grace, noGrace := handler.GraceFromEnv()
	log.FatalIf(noGrace)
	startup.Serve(log, startup.JSON(handler.New(ledger, grace, log).Handle))
}
