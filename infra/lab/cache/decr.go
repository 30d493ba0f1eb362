package cache

import (
	"context"
	"fmt"

	"flashsale/infra/lab/shop"
)

// decrement looks whether the user has bought, asks the user service, counts the
// stock down with DECR, which is atomic, and puts back what went below zero. Look
// and count are two commands: clicks that come at once all pass the look.
func decrement() shop.Spec {
	return shop.Spec{
		Name: "redis-decr", Family: family, Needs: []shop.Need{shop.Redis}, Prepare: stockUp, Orders: recorded,
		Does: "SISMEMBER for the buyer, DECR for the stock, INCR when it went below zero",
		Flaw: "two clicks of one user pass the look together; a process that dies after DECR loses the unit",
		Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) { return &counter{newDesk(h)}, nil },
	}
}

type counter struct{ *desk }

// Buy counts one unit down.
func (c *counter) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	switch has, err := c.redis.SIsMember(ctx, buyersKey(c.host.Place), user).Result(); {
	case err != nil:
		return "", fmt.Errorf("look for the buyer: %w", err)
	case has:
		return shop.AlreadyOrdered, nil
	}
	if err := c.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	c.host.At(ctx, shop.Read)
	left, err := c.redis.Decr(ctx, stockKey(c.host.Place)).Result()
	if err != nil {
		return "", fmt.Errorf("count down: %w", err)
	}
	if left < 0 {
		if err := c.redis.Incr(ctx, stockKey(c.host.Place)).Err(); err != nil {
			return "", fmt.Errorf("count back: %w", err)
		}
		return shop.SoldOut, nil
	}
	c.host.At(ctx, shop.Taken)
	if err := c.record(ctx, user); err != nil {
		return "", err
	}
	return shop.Accepted, nil
}
