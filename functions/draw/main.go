// Command draw leads every draw from the end of entering to its last call: it closes the roll,
// fetches the round of the public dice that decides, and calls as many people as there are
// units.
package main

import (
	"context"
	"errors"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"

	"flashsale/functions/draw/handler"
	"flashsale/shared/beacon"
	"flashsale/shared/clock"
	"flashsale/shared/draw"
	"flashsale/shared/ledger"
	"flashsale/shared/telemetry"
)

func main() {
	log := telemetry.New(os.Stdout, "draw", clock.Wall)
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	cfg = log.Watch(cfg)
	book, noBook := ledger.FromEnv(cfg, clock.Wall)
	times, noTimes := draw.TimesFromEnv()
	relays, noRelays := beacon.FromEnv()
	if err := errors.Join(noBook, noTimes, noRelays); err != nil {
		log.Fatal(err)
	}
	lambda.Start(handler.New(book, relays.Chain, relays, times, log, clock.Wall).Handle)
}
