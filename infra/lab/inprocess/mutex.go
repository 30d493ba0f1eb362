package inprocess

import (
	"context"
	"sync"

	"flashsale/infra/lab/shop"
)

// mutex wraps the whole purchase, user check included, as a synchronized
// service method does. It is right in one process, as slow as its slowest
// part, and a process that dies between its two writes leaves the unit gone
// without an order.
func mutex() shop.Spec {
	return shop.Spec{
		Name: "mutex",
		Does: "a mutex around the whole purchase",
		Flaw: "all buyers wait for each user check; a crash between the two writes loses a unit",
		Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) {
			return &locked{counter: counter{h, newStore(h.Place)}}, nil
		},
	}
}

type locked struct {
	mu      sync.Mutex
	counter counter
}

// Buy lets one request in at a time.
func (l *locked) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// Who waited longer than the buyer did has nobody to sell to.
	if err := ctx.Err(); err != nil {
		return "", err
	}
	l.counter.host.At(ctx, shop.Locked)
	return l.counter.Buy(ctx, user)
}
