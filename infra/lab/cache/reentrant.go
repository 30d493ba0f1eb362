package cache

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
)

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

// reentrant counts how often its owner holds the lock in a hash, as Redisson does. The
// purchase takes it, and the order inside of the purchase takes it again.
func reentrant(_ context.Context, d *desk) lock {
	return lock{acquire: func(ctx context.Context, key string) (*hold, error) {
		owner := rand.Text()
		run := func(ctx context.Context, s *redis.Script) *redis.Cmd {
			return s.Run(ctx, d.redis, []string{key, freedChannel(d.host.Place)}, owner, shop.LockTTL.Milliseconds())
		}
		for i := range 2 {
			entered, err := run(ctx, enter).Bool()
			if err == nil && !entered && i > 0 {
				err = errors.New("its owner was refused")
			}
			if err != nil || !entered {
				return nil, err
			}
		}
		stop := renew(ctx, func(ctx context.Context) { _ = run(ctx, prolong).Err() })
		return &hold{release: func(ctx context.Context) {
			stop()
			_ = run(ctx, leave).Err()
			_ = run(ctx, leave).Err()
		}}, nil
	}}
}

// freedChannel is where the release of the lock is published.
func freedChannel(p shop.Place) string { return lockKey(p) + ":freed" }

// notified lets buyers wait for the message that the lock is free instead of asking for
// it again and again. As in Redisson, a process listens once for all its buyers, and a
// message wakes one of them. Nobody waits longer than a lock lives that nobody renews.
func notified(ctx context.Context, d *desk) lock {
	messages := d.redis.Subscribe(context.WithoutCancel(ctx), freedChannel(d.host.Place))
	freed := make(chan struct{}, 1)
	go func() { // ends when the subscription is closed
		for range messages.Channel() {
			select {
			case freed <- struct{}{}:
			default: // somebody is to be woken already
			}
		}
	}()
	l := reentrant(ctx, d)
	l.close = messages
	l.wait = func(ctx context.Context, limit time.Duration) {
		select {
		case <-freed:
		case <-time.After(min(limit, shop.LockTTL)):
		case <-ctx.Done():
		}
	}
	return l
}
