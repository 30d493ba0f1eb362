package inprocess

import (
	"context"

	"flashsale/infra/lab/shop"
)

// unprotected reads the stock, compares it and writes what is left. What is
// quick to refuse is refused first, so the user check lies between reading and
// writing; meanwhile others do the same.
func unprotected() shop.Spec {
	return shop.Spec{
		Name: "unprotected",
		Does: "read the stock, compare, write it back",
		Flaw: "requests that read the same stock all sell it",
		Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) {
			return &counter{h, newStore(h.Place)}, nil
		},
	}
}

// counter is the naive shop.
type counter struct {
	host  shop.Host
	store *store
}

// Buy is right only if nobody else buys at the same time.
func (c *counter) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	if has, err := c.store.has(user); err != nil || has {
		return shop.AlreadyOrdered, err
	}
	left, err := c.store.stock()
	if err != nil {
		return "", err
	}
	if left <= 0 {
		return shop.SoldOut, nil
	}
	if err := c.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	c.host.At(ctx, shop.Read)
	if err := c.store.setStock(left - 1); err != nil {
		return "", err
	}
	c.host.At(ctx, shop.Taken)
	if err := c.store.record(user); err != nil {
		return "", err
	}
	c.host.At(ctx, shop.Recorded)
	return shop.Accepted, nil
}
