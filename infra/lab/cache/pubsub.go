package cache

import (
	"context"
	"time"

	"flashsale/infra/lab/shop"
)

// waiting lets buyers wait for the message that the lock is free instead of
// asking for it again and again.
func waiting() shop.Spec {
	return lockedSpec("redis-pubsub", "the re-entrant lock; who finds it taken waits for the message that it is free",
		"as the watchdog's; and a message that nobody listens to is gone, so waiting needs a time-out beside it",
		shop.Redis, func(d *desk) *locked {
			return &locked{desk: d, lock: countedLock{d}, free: d.awaitFreed}
		})
}

// awaitFreed waits for the message, at most limit and at most as long as a lock
// lives that nobody renews.
func (d *desk) awaitFreed(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, min(limit, shop.LockTTL))
	defer cancel()
	freed := d.redis.Subscribe(ctx, freedChannel(d.host.Place))
	defer freed.Close()
	_, _ = freed.ReceiveMessage(ctx) // its end is as good a reason to look again
}
