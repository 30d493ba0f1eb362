// Command ahead is ReleaseFunction with a clock that is 50 seconds ahead, ten less than the
// promises and the recount allow for. A sale leaves its buyers at least a minute to pay; with
// this function an order expires ten seconds after its id, so that payments, cancellations
// and releases meet while torture kills.
package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"

	"flashsale/functions/release/handler"
	"flashsale/shared/clock"
	"flashsale/shared/ledger"
	"flashsale/shared/telemetry"
)

const ahead = 50 * time.Second

// book looks at every claim in each run: by this clock an order that a buyer gets later may
// be due before the instant at which the last run expected the next one.
type book struct{ *ledger.Ledger }

func (b book) ReleaseDue(ctx context.Context, listing ledger.Listing, grace time.Duration) (ledger.ReleaseResult, error) {
	listing.NextPayBy = time.Time{}
	return b.Ledger.ReleaseDue(ctx, listing, grace)
}

func main() {
	log := telemetry.New(os.Stdout, "release", clock.Wall)
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	b, noBook := ledger.FromEnv(log.Watch(cfg), func() time.Time { return clock.Wall().Add(ahead) })
	grace, noGrace := handler.GraceFromEnv()
	if err := errors.Join(noBook, noGrace); err != nil {
		log.Fatal(err)
	}
	lambda.Start(handler.New(book{b}, grace, log).Handle)
}
