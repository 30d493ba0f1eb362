package cache

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
)

// reentrant counts how often its owner holds the lock in a hash, as Redisson
// does: the order service, called by who already holds it, takes it again.
func reentrant() shop.Spec {
	return lockedSpec("redis-reentrant", "a hash of owner and count: its owner may take the lock again; renewed while held",
		"as the watchdog's: one buyer at a time, and a process that stands still loses it",
		shop.Redis, func(d *desk) *locked { return &locked{desk: d, lock: countedLock{d}} })
}

var (
	enter = redis.NewScript(`
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
	redis.call('hincrby', KEYS[1], ARGV[1], 1)
	redis.call('pexpire', KEYS[1], ARGV[2])
	return 1
end
return 0`)
	leave = redis.NewScript(`
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
	return 0
end
if redis.call('hincrby', KEYS[1], ARGV[1], -1) > 0 then
	redis.call('pexpire', KEYS[1], ARGV[2])
	return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], 'free')
return 1`)
	prolong = redis.NewScript(`
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
	return redis.call('pexpire', KEYS[1], ARGV[2])
end
return 0`)
)

type countedLock struct{ *desk }

// acquire enters twice: for the purchase and for the order inside of it.
func (l countedLock) acquire(ctx context.Context) (func(context.Context), bool, error) {
	owner := rand.Text()
	ok, err := l.enter(ctx, owner)
	if err != nil || !ok {
		return nil, false, err
	}
	switch again, err := l.enter(ctx, owner); {
	case err != nil:
		return nil, false, err
	case !again:
		return nil, false, errors.New("take lock again: its owner was refused")
	}
	stop := renew(ctx, func(ctx context.Context) { _ = l.run(ctx, prolong, owner).Err() })
	return func(ctx context.Context) {
		stop()
		_ = l.run(ctx, leave, owner).Err()
		_ = l.run(ctx, leave, owner).Err()
	}, true, nil
}

func (l countedLock) enter(ctx context.Context, owner string) (bool, error) {
	entered, err := l.run(ctx, enter, owner).Bool()
	if err != nil {
		return false, fmt.Errorf("take lock: %w", err)
	}
	return entered, nil
}

func (l countedLock) run(ctx context.Context, s *redis.Script, owner string) *redis.Cmd {
	key := lockKey(l.host.Place)
	return s.Run(ctx, l.redis, []string{key, freedChannel(l.host.Place)}, owner, shop.LockTTL.Milliseconds())
}

// freedChannel is where the release of the lock is published.
func freedChannel(p shop.Place) string { return lockKey(p) + ":freed" }
