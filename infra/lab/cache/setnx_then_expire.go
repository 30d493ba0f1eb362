package cache

import (
	"context"
	"fmt"

	"flashsale/infra/lab/shop"
)

// setThenExpire takes the lock with SETNX and gives it an expiry with a second
// command. Who dies in between leaves a lock that nobody may ever take again.
func setThenExpire() shop.Spec {
	return lockedSpec("redis-setnx-expire", "SETNX, then EXPIRE; DEL when done",
		"a process that dies between SETNX and EXPIRE leaves the lock behind forever: nobody buys any more",
		shop.Redis, func(d *desk) *locked { return &locked{desk: d, lock: twoStepLock{d}} })
}

type twoStepLock struct{ *desk }

func (l twoStepLock) acquire(ctx context.Context) (func(context.Context), bool, error) {
	key := lockKey(l.host.Place)
	ok, err := l.redis.SetNX(ctx, key, "1", 0).Result()
	if err != nil || !ok {
		if err != nil {
			err = fmt.Errorf("take lock: %w", err)
		}
		return nil, false, err
	}
	l.host.At(ctx, shop.HalfLocked)
	// In milliseconds: EXPIRE itself counts whole seconds, which the scaled-down
	// time does not have.
	if err := l.redis.PExpire(ctx, key, shop.LockTTL).Err(); err != nil {
		return nil, false, fmt.Errorf("expire lock: %w", err)
	}
	return func(ctx context.Context) { l.redis.Del(ctx, key) }, true, nil
}
