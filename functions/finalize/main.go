// Command finalize takes order messages from the queue, gives each claim its
// global order id and confirms it.
package main

import (
	"flashsale/functions/finalize/handler"
	"flashsale/shared/clock"
	"flashsale/shared/startup"
)

func main() {
	log, _, ledger := startup.Function("finalize")
	startup.Serve(log, handler.New(ledger, log, clock.Wall))
}
