package cache

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
)

// watchdog renews the lock every third of its life for as long as its owner
// works, as Redisson does.
func watchdog() shop.Spec {
	return lockedSpec("redis-watchdog", "the token lock, renewed every third of its life while its owner works",
		"one buyer at a time; and a process that stands still longer than the lock lives does not renew it either",
		shop.Redis, func(d *desk) *locked { return &locked{desk: d, lock: renewedLock{tokenLock{d}}} })
}

var renewOwn = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
	return redis.call('pexpire', KEYS[1], ARGV[2])
end
return 0`)

type renewedLock struct{ tokenLock }

func (l renewedLock) acquire(ctx context.Context) (func(context.Context), bool, error) {
	value, ok, err := l.take(ctx)
	if err != nil || !ok {
		return nil, false, err
	}
	stop := renew(ctx, func(ctx context.Context) {
		// A renewal that fails is tried again in the next round.
		_ = renewOwn.Run(ctx, l.redis, []string{lockKey(l.host.Place)}, value, shop.LockTTL.Milliseconds()).Err()
	})
	return func(ctx context.Context) {
		stop()
		l.give(ctx, value)
	}, true, nil
}

// renew calls once every third of a lock's life until it is stopped.
func renew(ctx context.Context, once func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(shop.LockTTL / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				once(ctx)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
