package inprocess

import (
	"context"
	"sync"

	"flashsale/infra/lab/shop"
)

// mutex wraps the whole purchase, user check included, as a synchronized
// service method does. It is right in one process. Three processes have three of
// them.
func mutex() shop.Spec {
	return shop.Spec{
		Name: "mutex-x3", Servers: 3,
		Does: "a mutex around the whole purchase, in each of three processes",
		Flaw: "each process protects its own memory only",
		Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) {
			return &locked{host: h, store: newStore(h.Place)}, nil
		},
	}
}

type locked struct {
	mu    sync.Mutex
	host  shop.Host
	store *store
}

// Buy lets one request in at a time.
func (l *locked) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// Who waited longer than the buyer did has nobody to sell to.
	if err := ctx.Err(); err != nil {
		return "", err
	}
	l.host.At(ctx, shop.Locked)
	return l.sell(ctx, user)
}

// sell reads the stock, compares it and writes what is left: right only if nobody else does
// so at the same time.
func (l *locked) sell(ctx context.Context, user string) (shop.Outcome, error) {
	if has, err := l.store.has(user); err != nil || has {
		return shop.AlreadyOrdered, err
	}
	left, err := l.store.stock()
	if err != nil {
		return "", err
	}
	if left <= 0 {
		return shop.SoldOut, nil
	}
	if err := l.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	l.host.At(ctx, shop.Read)
	if err := l.store.setStock(left - 1); err != nil {
		return "", err
	}
	l.host.At(ctx, shop.Taken)
	if err := l.store.record(user); err != nil {
		return "", err
	}
	l.host.At(ctx, shop.Recorded)
	return shop.Accepted, nil
}
