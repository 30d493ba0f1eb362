package cache

import (
	"context"
	"fmt"

	"flashsale/infra/lab/shop"
)

// counter sells by a counter, without a lock.
func counter(name, does, flaw string, need shop.Need, sell sale) shop.Spec {
	return spec(name, does, flaw, need, func(_ context.Context, d *desk) (shop.Strategy, error) { return counted{d, sell}, nil })
}

type counted struct {
	*desk
	sell sale
}

// Buy counts one unit down.
func (c counted) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	return c.sell(ctx, c.desk, user, 0)
}

// lookAndCount is atomic about the unit. Look and count are two commands: clicks
// that come at once all pass the look.
func lookAndCount(ctx context.Context, d *desk, user string, _ int64) (shop.Outcome, error) {
	if refused, err := d.admit(ctx, user); err != nil || refused != "" {
		return refused, err
	}
	d.host.At(ctx, shop.Read)
	return countAndRecord(ctx, d, user)
}

func countAndRecord(ctx context.Context, d *desk, user string) (shop.Outcome, error) {
	if ok, err := d.takeOne(ctx); err != nil || !ok {
		return shop.SoldOut, err
	}
	return d.record(ctx, user)
}

// countTwice counts the user's clicks before the stock. Each count is atomic; the two
// and the order are three steps, and who dies in between leaves a unit that nobody
// has, or a user who may never buy.
func countTwice(ctx context.Context, d *desk, user string, _ int64) (shop.Outcome, error) {
	if err := d.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	clicks := "seckill:clicks:" + d.host.Sale
	switch n, err := d.redis.HIncrBy(ctx, clicks, user, 1).Result(); {
	case err != nil:
		return "", fmt.Errorf("count the user: %w", err)
	case n > 1:
		return shop.AlreadyOrdered, nil
	}
	outcome, err := countAndRecord(ctx, d, user)
	if err == nil && outcome == shop.SoldOut {
		err = d.redis.HDel(ctx, clicks, user).Err()
	}
	return outcome, err
}
