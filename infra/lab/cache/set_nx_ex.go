package cache

import (
	"context"
	"fmt"

	"flashsale/infra/lab/shop"
)

// incident is the code of the incident: an atomic SET NX EX, a slow user check
// under the lock, a stock that is read and compared, and a DEL at the end that
// does not look whose lock it deletes.
func incident() shop.Spec {
	return lockedSpec("redis-set-nx-ex", "SET NX with an expiry; DEL when done: the incident",
		"the user check outlives the lock; its owner then deletes somebody else's, and several read the same stock",
		shop.Redis, func(d *desk) *locked { return &locked{desk: d, lock: expiringLock{d}} })
}

type expiringLock struct{ *desk }

func (l expiringLock) acquire(ctx context.Context) (func(context.Context), bool, error) {
	key := lockKey(l.host.Place)
	ok, err := l.redis.SetNX(ctx, key, "1", shop.LockTTL).Result()
	if err != nil {
		return nil, false, fmt.Errorf("take lock: %w", err)
	}
	return func(ctx context.Context) { l.redis.Del(ctx, key) }, ok, nil
}
