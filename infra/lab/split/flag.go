package split

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"flashsale/infra/lab/shop"
)

// flagged is the counter in Redis with a sold-out flag in every server's memory
// before it: once the counter has gone below zero, this server asks no more. The
// unit is taken first and everything about its buyer asked afterwards, so that
// the crowd meets nothing but the counter. A unit put back because its buyer already had
// one is never sold: no server asks again.
func flagged() shop.Spec {
	return shop.Spec{
		Name: "split-flag", Family: family, Needs: []shop.Need{shop.RedisAlways}, Prepare: stockUp, Orders: recorded,
		Does: "DECR in Redis, a second order of the user is put back; a flag in each server's memory says sold out",
		Flaw: "a unit that is put back after the flag went up is never sold: \"sold out\" while stock is left",
		Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) {
			return &flag{store: store{h, connect(h.Place)}}, nil
		},
	}
}

type flag struct {
	store
	soldOut atomic.Bool
}

// Buy asks Redis unless this server has heard that nothing is left.
func (f *flag) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	if f.soldOut.Load() {
		return shop.SoldOut, nil
	}
	left, err := f.redis.Decr(ctx, stockKey(f.host.Place)).Result()
	if err != nil {
		return "", fmt.Errorf("count down: %w", err)
	}
	if left < 0 {
		f.soldOut.Store(true)
		return shop.SoldOut, f.putBack(ctx)
	}
	f.host.At(ctx, shop.Taken)
	// Only who may get a unit is worth a question to the user service.
	if err := f.host.CheckUser(ctx, user); err != nil {
		return "", errors.Join(err, f.putBack(context.WithoutCancel(ctx)))
	}
	added, err := f.redis.SAdd(ctx, buyersKey(f.host.Place), user).Result()
	if err != nil {
		return "", fmt.Errorf("remember the buyer: %w", err)
	}
	if added == 0 {
		return shop.AlreadyOrdered, f.putBack(ctx)
	}
	if err := f.record(ctx, user); err != nil {
		return "", err
	}
	return shop.Accepted, nil
}

func (f *flag) putBack(ctx context.Context) error {
	if err := f.redis.Incr(ctx, stockKey(f.host.Place)).Err(); err != nil {
		return fmt.Errorf("count back: %w", err)
	}
	return nil
}
