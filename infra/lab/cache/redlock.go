package cache

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
)

// majority takes the lock on a majority of three servers, one of which may die, and
// extends it every third of its life.
func majority(_ context.Context, d *desk) lock {
	var pools []redsyncredis.Pool
	var all []*redis.Client
	for _, address := range d.host.Redis {
		c := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1})
		all = append(all, c)
		pools = append(pools, goredis.NewPool(c))
	}
	servers := redsync.New(pools...)
	return lock{clients: all, pause: pauseByChance, acquire: func(ctx context.Context, key string) (*hold, error) {
		m := servers.NewMutex(key, redsync.WithExpiry(shop.LockTTL), redsync.WithTries(1))
		if m.LockContext(ctx) != nil {
			// Taken by another, or too few servers answered: not locked either way.
			return nil, ctx.Err()
		}
		stop := renew(ctx, func(ctx context.Context) { _, _ = m.ExtendContext(ctx) })
		return &hold{release: func(ctx context.Context) {
			stop()
			_, _ = m.UnlockContext(ctx)
		}}, nil
	}}
}

// pauseByChance is what redsync waits between two tries: who asks all
// servers at the same time as others gets one vote each, and nobody the lock. This is
// not scaled down with the lock's life, because the time in which all servers are asked is
// not either: with a wait of 1 to 5 ms the sales stalled.
func pauseByChance() time.Duration { return 50*time.Millisecond + rand.N(200*time.Millisecond) }
