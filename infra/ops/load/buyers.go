package load

import (
	"context"
	"io"
	"time"

	"flashsale/infra/kit/rush"
	"flashsale/infra/kit/verdict"
)

// buyers rush for a sale and wait for their order ids.
type buyers struct {
	rush.Rush
	tally *tally
}

func newBuyers(a rush.API, saleID string, visits []visit, known verdict.Sale) *buyers {
	b := &buyers{tally: newTally(visits)}
	b.Rush = rush.Rush{
		API: a, SaleID: saleID, InFlight: inFlight, Patience: patience, Whole: true, History: verdict.New(known),
		Seen: b.tally.seen, Then: func(ctx context.Context, i int) { b.Poll(ctx, i) },
	}
	for _, v := range visits {
		b.Crowd = append(b.Crowd, v.Buyer)
	}
	return b
}

// come sends the buyers and waits until all are done or the time is over.
func (b *buyers) come(ctx context.Context, limit time.Duration, stderr io.Writer, what string) error {
	one, end := step(stderr, what, len(b.Crowd))
	defer end()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	b.Run(limited, one)
	return ctx.Err()
}
