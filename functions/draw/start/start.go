// Package start wires DrawFunction.
package start

import (
	"flashsale/functions/draw/handler"
	"flashsale/shared/beacon"
	"flashsale/shared/clock"
	"flashsale/shared/draw"
	"flashsale/shared/startup"
)

// Function serves the events of DrawFunction. It does not return.
func Function() {
	log, _, ledger := startup.Function("draw")
	times, noTimes := draw.TimesFromEnv()
	relays, noRelays := beacon.FromEnv()
	log.FatalIf(noTimes, noRelays)
	startup.Serve(log, startup.JSON(handler.New(ledger, relays.Chain, relays, times, log, clock.Wall).Handle))
}
