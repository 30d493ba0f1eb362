package cache

import (
	"context"
	"time"

	"flashsale/infra/lab/shop"
)

// lock is one of the package's locks.
type lock interface {
	// acquire takes the lock if it is free. release gives it back; it is called
	// once, also when the caller's context has ended.
	acquire(ctx context.Context) (release func(context.Context), ok bool, err error)
}

const (
	// patience is how long a buyer waits for the lock, and spin how long between
	// two looks at it.
	patience = time.Second
	spin     = 5 * time.Millisecond
	// farewell bounds the release of a lock.
	farewell = time.Second
)

// locked sells under a lock.
type locked struct {
	*desk
	lock lock
	// free, if not nil, waits until the lock may be free; nil spins.
	free func(ctx context.Context, limit time.Duration)
}

// Buy takes the lock, sells, and gives it back.
func (l *locked) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	for until := time.Now().Add(patience); ; {
		release, ok, err := l.lock.acquire(ctx)
		if err != nil {
			return "", err
		}
		if ok {
			return l.sellAndRelease(ctx, user, release)
		}
		left := time.Until(until)
		if left <= 0 || ctx.Err() != nil {
			return shop.Busy, nil
		}
		if l.free != nil {
			l.free(ctx, left)
			continue
		}
		time.Sleep(spin)
	}
}

func (l *locked) sellAndRelease(ctx context.Context, user string, release func(context.Context)) (shop.Outcome, error) {
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		release(last)
	}()
	l.host.At(ctx, shop.Locked)
	return l.sell(ctx, user)
}

// lockedSpec describes a strategy that sells under a lock.
func lockedSpec(name, does, flaw string, needs shop.Need, open func(*desk) *locked) shop.Spec {
	return shop.Spec{
		Name: name, Family: family, Does: does, Flaw: flaw, Needs: []shop.Need{needs},
		Prepare: stockUp, Orders: recorded,
		Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) { return open(newDesk(h)), nil },
	}
}
