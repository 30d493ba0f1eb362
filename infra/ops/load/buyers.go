package load

import (
	"context"
	"io"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/rush"
	"flashsale/infra/kit/verdict"
)

// api is the part of the client that a buyer uses.
type api interface {
	rush.API
	Cancel(ctx context.Context, saleID, token string) (client.Answer, error)
}

// buyers rush for a sale and wait for their order ids. If the sale asks for payment, they then pay,
// cancel or let their orders expire.
type buyers struct {
	rush.Rush
	api   api
	tally *tally
	payer payer // nil: the sale asks for no payment
	// release runs ReleaseFunction.
	release func(context.Context) error
}

func (o *options) newBuyers(a api, saleID string, visits []visit, known verdict.Sale) *buyers {
	b := &buyers{api: a, tally: newTally(visits)}
	b.Rush = rush.Rush{
		API: a, SaleID: saleID, InFlight: o.inflight, Patience: o.patience, Whole: true, Insists: o.demo, History: verdict.New(known),
		Seen: b.tally.seen, Then: b.follow,
	}
	for _, v := range visits {
		b.Crowd = append(b.Crowd, v.Buyer)
	}
	return b
}

// follow waits for a buyer's order id and then settles the order.
func (b *buyers) follow(ctx context.Context, i int) {
	if order := b.Poll(ctx, i); order != "" && b.payer != nil {
		b.settle(ctx, i, order)
	}
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
