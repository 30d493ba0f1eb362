package cache

import (
	"context"

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
	if ok, err := d.takeOne(ctx); err != nil || !ok {
		return shop.SoldOut, err
	}
	return d.record(ctx, user)
}
