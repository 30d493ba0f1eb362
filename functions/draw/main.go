// Command draw leads every draw from the end of entering to its last call: it closes the roll,
// fetches the round of the public dice that decides, and calls as many people as there are
// units.
package main

import (
	"flashsale/functions/draw/handler"
	"flashsale/shared/beacon"
	"flashsale/shared/clock"
	"flashsale/shared/draw"
	"flashsale/shared/startup"
)

func main() {
	log, _, ledger := startup.Function("draw")
	times, noTimes := draw.TimesFromEnv()
	relays, noRelays := beacon.FromEnv()
	log.FatalIf(noTimes, noRelays)
	startup.Serve(log, startup.JSON(handler.New(ledger, relays.Chain, relays, times, log, clock.Wall).Handle))
}
