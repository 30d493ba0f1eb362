package cache

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
)

// waiting lets buyers wait for the message that the lock is free instead of
// asking for it again and again. As in Redisson, a process listens once for all
// its buyers, and a message wakes one of them.
func waiting() shop.Spec {
	s := lockedSpec("redis-pubsub", "the re-entrant lock; who finds it taken waits for the message that it is free",
		"as the watchdog's; and a message that nobody listens to is gone, so waiting needs a time-out beside it",
		shop.Redis, nil)
	s.Open = func(ctx context.Context, h shop.Host) (shop.Strategy, error) {
		d := newDesk(h)
		messages := d.redis.Subscribe(context.WithoutCancel(ctx), freedChannel(h.Place))
		w := &waitingShop{messages: messages, freed: make(chan struct{}, 1)}
		w.locked = locked{desk: d, lock: countedLock{d}, free: w.await}
		go w.listen()
		return w, nil
	}
	return s
}

type waitingShop struct {
	locked
	messages *redis.PubSub
	freed    chan struct{}
}

// listen ends when the subscription is closed.
func (w *waitingShop) listen() {
	for range w.messages.Channel() {
		select {
		case w.freed <- struct{}{}:
		default: // somebody is to be woken already
		}
	}
}

// await waits for the message, at most limit and at most as long as a lock lives
// that nobody renews.
func (w *waitingShop) await(ctx context.Context, limit time.Duration) {
	select {
	case <-w.freed:
	case <-time.After(min(limit, shop.LockTTL)):
	case <-ctx.Done():
	}
}

// Close ends the subscription and the connections.
func (w *waitingShop) Close() error { return errors.Join(w.messages.Close(), w.desk.Close()) }
