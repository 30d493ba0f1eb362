package cache

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
)

type lock struct {
	// acquire takes the lock if it is free; otherwise the hold is nil. Without it there is no lock.
	acquire func(ctx context.Context, key string) (*hold, error)
	// pause, if not nil, is how long to wait until the lock may be free; nil looks again soon.
	pause func() time.Duration
	// clients are those that the lock has besides the desk's.
	clients []*redis.Client
}

type hold struct {
	// fence grows with every owner, or is 0.
	fence int64
	// release gives the lock back. It is called once, also when the caller's
	// context has ended.
	release func(context.Context)
}

// newLock makes a lock in one application server.
type newLock func(ctx context.Context, d *desk) lock

const (
	// patience is how long a buyer waits for the lock, and spin how long between
	// two looks at it.
	patience = time.Second
	spin     = 5 * time.Millisecond
	// farewell bounds the release of a lock.
	farewell = time.Second
)

type locked struct {
	*desk
	lock lock
	sell sale
}

// under describes a strategy that sells under one lock for all.
func under(name, does, flaw string, need shop.Need, make newLock, sell sale) shop.Spec {
	return spec(name, does, flaw, need, func(ctx context.Context, d *desk) (shop.Strategy, error) {
		return &locked{d, make(ctx, d), sell}, nil
	})
}

// Buy takes the lock, sells, and gives it back.
func (l *locked) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	if l.lock.acquire == nil {
		return l.sell(ctx, l.desk, user, 0)
	}
	for until := time.Now().Add(patience); ; {
		h, err := l.lock.acquire(ctx, lockKey(l.host.Place))
		if err != nil {
			return "", fmt.Errorf("take lock: %w", err)
		}
		if h != nil {
			defer func() {
				last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
				defer cancel()
				h.release(last)
			}()
			l.host.At(ctx, shop.Locked)
			return l.sell(ctx, l.desk, user, h.fence)
		}
		left := time.Until(until)
		if left <= 0 || ctx.Err() != nil {
			return shop.Busy, nil
		}
		pause := spin
		if l.lock.pause != nil {
			pause = min(left, l.lock.pause())
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

func (l *locked) Close() error {
	for _, c := range l.lock.clients {
		_ = c.Close()
	}
	return l.desk.Close()
}

func none(context.Context, *desk) lock { return lock{} }

// blind is the incident's lock: an atomic SET NX EX, and a DEL at the end that does
// not look whose lock it deletes.
func blind(_ context.Context, d *desk) lock {
	return lock{acquire: func(ctx context.Context, key string) (*hold, error) {
		ok, err := d.redis.SetNX(ctx, key, "1", shop.LockTTL).Result()
		if err != nil || !ok {
			return nil, err
		}
		return &hold{release: func(ctx context.Context) { d.redis.Del(ctx, key) }}, nil
	}}
}

var (
	deleteOwn = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
	return redis.call('del', KEYS[1])
end
return 0`)
	renewOwn = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
	return redis.call('pexpire', KEYS[1], ARGV[2])
end
return 0`)
)

// token puts a random value into the lock and deletes it, in a script, only while it is
// still there. Nobody's lock is deleted by another; but a lock that expired under its
// owner has let the next one in.
func token(_ context.Context, d *desk) lock { return d.own(false) }

// watchdog renews the token lock every third of its life for as long as its owner
// works, as Redisson does.
func watchdog(_ context.Context, d *desk) lock { return d.own(true) }

func (d *desk) own(renews bool) lock {
	return lock{acquire: func(ctx context.Context, key string) (*hold, error) {
		value := rand.Text()
		ok, err := d.redis.SetNX(ctx, key, value, shop.LockTTL).Result()
		if err != nil || !ok {
			return nil, err
		}
		stop := func() {}
		if renews {
			stop = renew(ctx, func(ctx context.Context) {
				// A renewal that fails is tried again in the next round.
				_ = renewOwn.Run(ctx, d.redis, []string{key}, value, shop.LockTTL.Milliseconds()).Err()
			})
		}
		return &hold{release: func(ctx context.Context) {
			stop()
			// A failed deletion leaves a lock that expires by itself.
			_ = deleteOwn.Run(ctx, d.redis, []string{key}, value).Err()
		}}, nil
	}}
}

// fenced numbers the owners of the watchdog's lock.
func fenced(ctx context.Context, d *desk) lock {
	l := watchdog(ctx, d)
	take := l.acquire
	l.acquire = func(ctx context.Context, key string) (*hold, error) {
		h, err := take(ctx, key)
		if err != nil || h == nil {
			return nil, err
		}
		if h.fence, err = d.redis.Incr(ctx, key+":fence").Result(); err != nil {
			h.release(ctx)
			return nil, err
		}
		return h, nil
	}
	return l
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
func pauseByChance() time.Duration { return 50*time.Millisecond + mathrand.N(200*time.Millisecond) }
