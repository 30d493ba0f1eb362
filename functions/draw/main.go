// Command draw leads every draw from the end of entering to its last call: it closes the roll,
// fetches the round of the public dice that decides, and calls as many people as there are
// units.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/draw/handler"
	"flashsale/shared/beacon"
	"flashsale/shared/clock"
	"flashsale/shared/draw"
	"flashsale/shared/ledger"
	"flashsale/shared/startup"
	"flashsale/shared/telemetry"
)

func main() {
	log := telemetry.New(os.Stdout, "draw", clock.Wall)
	cfg := startup.AWS(log)
	book, noBook := ledger.FromEnv(cfg, clock.Wall)
	times, noTimes := draw.TimesFromEnv()
	relays, noRelays := beacon.FromEnv()
	log.FatalIf(noBook, noTimes, noRelays)
	lambda.Start(handler.New(book, relays.Chain, relays, times, log, clock.Wall).Handle)
}
