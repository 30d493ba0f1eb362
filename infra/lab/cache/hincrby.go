package cache

import (
	"context"
	"fmt"

	"flashsale/infra/lab/shop"
)

// perUserCounter counts the user's clicks with HINCRBY before the stock with
// DECR. Each is atomic; the two and the order are three steps, and who dies in
// between leaves a unit that nobody has, or a user who may never buy.
func perUserCounter() shop.Spec {
	return shop.Spec{
		Name: "redis-hincrby", Family: family, Needs: []shop.Need{shop.Redis}, Prepare: stockUp, Orders: recorded,
		Does: "HINCRBY for the user's clicks, then DECR for the stock; both put back when there is none left",
		Flaw: "a process that dies between the counters and the order loses the unit, and shuts its buyer out",
		Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) { return &twoCounters{newDesk(h)}, nil },
	}
}

type twoCounters struct{ *desk }

// Buy counts the user, then the unit.
func (c *twoCounters) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	if err := c.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	clicks := "seckill:clicks:" + c.host.Sale
	n, err := c.redis.HIncrBy(ctx, clicks, user, 1).Result()
	switch {
	case err != nil:
		return "", fmt.Errorf("count the user: %w", err)
	case n > 1:
		return shop.AlreadyOrdered, nil
	}
	left, err := c.redis.Decr(ctx, stockKey(c.host.Place)).Result()
	if err != nil {
		return "", fmt.Errorf("count down: %w", err)
	}
	if left < 0 {
		_, err := c.redis.Incr(ctx, stockKey(c.host.Place)).Result()
		if err == nil {
			err = c.redis.HDel(ctx, clicks, user).Err()
		}
		if err != nil {
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
