package cache

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
)

// token puts a random value into the lock and deletes it, in a script, only
// while it is still there. Nobody's lock is deleted by another; but a lock that
// expired under its owner has let the next one in.
func token() shop.Spec {
	return lockedSpec("redis-token-unlock", "SET NX with a random token; a script deletes only its own lock",
		"the user check outlives the lock: two are inside, and both read the same stock",
		shop.Redis, func(d *desk) *locked { return &locked{desk: d, lock: tokenLock{d}} })
}

var deleteOwn = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
	return redis.call('del', KEYS[1])
end
return 0`)

type tokenLock struct{ *desk }

func (l tokenLock) acquire(ctx context.Context) (func(context.Context), bool, error) {
	value, ok, err := l.take(ctx)
	return func(ctx context.Context) { l.give(ctx, value) }, ok, err
}

func (l tokenLock) take(ctx context.Context) (value string, ok bool, err error) {
	value = rand.Text()
	ok, err = l.redis.SetNX(ctx, lockKey(l.host.Place), value, shop.LockTTL).Result()
	if err != nil {
		return "", false, fmt.Errorf("take lock: %w", err)
	}
	return value, ok, nil
}

func (l tokenLock) give(ctx context.Context, value string) {
	// A failed deletion leaves a lock that expires by itself.
	_ = deleteOwn.Run(ctx, l.redis, []string{lockKey(l.host.Place)}, value).Err()
}
