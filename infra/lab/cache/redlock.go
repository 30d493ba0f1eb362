package cache

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
)

// redlock takes the lock on a majority of three servers. One of them may die.
// It expires like any other while its owner is slow, and nothing that it guards
// notices: there is no fencing token that the stock would check.
func redlock() shop.Spec {
	return shop.Spec{
		Name: "redis-redlock", Family: family, Needs: []shop.Need{shop.RedisTrio}, Prepare: stockUp, Orders: recorded,
		Does: "RedLock on three servers, by redsync",
		Flaw: "a majority survives a dead server, not a user check that outlives the lock: there is no fencing",
		Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) {
			d := newDesk(h)
			var pools []redsyncredis.Pool
			var clients []*redis.Client
			for _, address := range h.Redis {
				c := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1})
				clients = append(clients, c)
				pools = append(pools, goredis.NewPool(c))
			}
			m := majority{d, redsync.New(pools...)}
			return &majorityShop{locked{desk: d, lock: m, free: awaitTurn}, clients}, nil
		},
	}
}

// awaitTurn waits as redsync does between two tries, by chance: who asks all
// servers at the same time as others gets one vote each, and nobody the lock.
func awaitTurn(ctx context.Context, limit time.Duration) {
	select {
	case <-time.After(min(limit, 50*time.Millisecond+rand.N(200*time.Millisecond))):
	case <-ctx.Done():
	}
}

type majority struct {
	*desk
	sync *redsync.Redsync
}

func (l majority) acquire(ctx context.Context) (func(context.Context), bool, error) {
	m := l.sync.NewMutex(lockKey(l.host.Place), redsync.WithExpiry(shop.LockTTL), redsync.WithTries(1))
	if m.LockContext(ctx) != nil {
		// Taken by another, or too few servers answered: not locked either way.
		return nil, false, ctx.Err()
	}
	return func(ctx context.Context) { _, _ = m.UnlockContext(ctx) }, true, nil
}

// majorityShop has clients of all servers to close.
type majorityShop struct {
	locked
	clients []*redis.Client
}

// Close ends all connections.
func (s *majorityShop) Close() error {
	errs := []error{s.desk.Close()}
	for _, c := range s.clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
