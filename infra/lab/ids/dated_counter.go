package ids

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
)

// counterEpoch is the second from which datedCounter counts.
var counterEpoch = time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC)

// datedCounter is the well-known "global id": seconds above a counter that Redis
// keeps under a key with the date. The second is read before the counter is
// asked, so two servers may get their numbers in the other order.
func datedCounter() Generator {
	return Generator{
		Name: "redis-dated-counter", Does: "seconds, then INCR on a key of the day", Needs: shop.Redis,
		Open: func(_ context.Context, p shop.Place) (Issue, func() error, error) {
			c := redis.NewClient(&redis.Options{Addr: p.Redis[0]})
			return func(ctx context.Context) ([]string, error) {
				now := time.Now().UTC()
				n, err := c.Incr(ctx, "icr:order:"+now.Format("2006:01:02")).Result()
				if err != nil {
					return nil, fmt.Errorf("count: %w", err)
				}
				return []string{strconv.FormatInt((now.Unix()-counterEpoch.Unix())<<32|n, 10)}, nil
			}, c.Close, nil
		},
	}
}
