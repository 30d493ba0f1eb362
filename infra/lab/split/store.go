package split

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/cache"
	"flashsale/infra/lab/shop"
)

// store is what the servers of the other strategies share.
type store struct {
	host  shop.Host
	redis *redis.Client
}

func connect(p shop.Place) *redis.Client { return redis.NewClient(&redis.Options{Addr: p.Redis[0]}) }

// Close ends the connections.
func (s *store) Close() error { return s.redis.Close() }

func stockKey(p shop.Place) string  { return "split:stock:" + p.Sale }
func buyersKey(p shop.Place) string { return "split:buyers:" + p.Sale }
func ordersKey(p shop.Place) string { return "split:orders:" + p.Sale }

func stockUp(ctx context.Context, p shop.Place) error {
	return cache.StockUp(ctx, connect(p), stockKey(p), p)
}

func recorded(ctx context.Context, p shop.Place) ([]shop.Order, error) {
	return cache.Orders(ctx, connect(p), ordersKey(p))
}

func (s *store) record(ctx context.Context, user string) error {
	if err := s.redis.RPush(ctx, ordersKey(s.host.Place), user).Err(); err != nil {
		return fmt.Errorf("record order: %w", err)
	}
	s.host.At(ctx, shop.Recorded)
	return nil
}
