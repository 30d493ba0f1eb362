package split

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
)

// twoCounters lets a server sell from its own counter first, which keeps most
// of the crowd away from Redis, and then from the one that all share, which
// decides. The servers' own counters together hold more than there is, so that
// one may die. Nothing in it knows a user.
func twoCounters() shop.Spec {
	return shop.Spec{
		Name: "split-two-counters", Family: family, Needs: []shop.Need{shop.RedisAlways}, Orders: recorded,
		Does: "a counter in each server's memory with some in reserve, then a script on the common one",
		Flaw: "nothing asks who is buying: a user gets as many as there are clicks",
		Prepare: func(ctx context.Context, p shop.Place) error {
			c := connect(p)
			defer c.Close()
			if err := c.HSet(ctx, stockKey(p), "total", p.Stock, "sold", 0).Err(); err != nil {
				return fmt.Errorf("set stock: %w", err)
			}
			return nil
		},
		Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) {
			s := &local{store: store{h, connect(h.Place)}}
			s.left.Store(int64(part(h.Stock, h.Server%h.Servers, h.Servers) * reserve))
			return s, nil
		},
	}
}

// reserve is how many times its share a server's own counter holds.
const reserve = 2

var sellOne = redis.NewScript(`
local total = tonumber(redis.call('hget', KEYS[1], 'total'))
local sold = tonumber(redis.call('hget', KEYS[1], 'sold'))
if not total or not sold or sold >= total then
	return 0
end
return redis.call('hincrby', KEYS[1], 'sold', 1)`)

type local struct {
	store
	left atomic.Int64
}

// Buy counts down here and then for all.
func (l *local) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	if err := l.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	if l.left.Add(-1) < 0 {
		return shop.SoldOut, nil
	}
	n, err := sellOne.Run(ctx, l.redis, []string{stockKey(l.host.Place)}).Int()
	if err != nil {
		return "", fmt.Errorf("count for all: %w", err)
	}
	if n == 0 {
		return shop.SoldOut, nil
	}
	l.host.At(ctx, shop.Taken)
	if err := l.record(ctx, user); err != nil {
		return "", err
	}
	return shop.Accepted, nil
}
