package cache

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
)

// desk is what all strategies of the package have: a client, and the names of
// the sale's keys.
type desk struct {
	host  shop.Host
	redis *redis.Client
}

// stockServer is the server that holds stock and orders: the last one, so that
// of three the one that dies is one that only locks.
func stockServer(p shop.Place) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: p.Redis[len(p.Redis)-1]})
}

func newDesk(h shop.Host) *desk { return &desk{h, stockServer(h.Place)} }

// Close ends the connections.
func (d *desk) Close() error { return d.redis.Close() }

func stockKey(p shop.Place) string  { return "seckill:stock:" + p.Sale }
func buyersKey(p shop.Place) string { return "seckill:buyers:" + p.Sale }
func ordersKey(p shop.Place) string { return "seckill:orders:" + p.Sale }
func lockKey(p shop.Place) string   { return "lock:seckill:" + p.Sale }

func stockUp(ctx context.Context, p shop.Place) error {
	return StockUp(ctx, stockServer(p), stockKey(p), p)
}

func recorded(ctx context.Context, p shop.Place) ([]shop.Order, error) {
	return Orders(ctx, stockServer(p), ordersKey(p))
}

// record appends the order and remembers the buyer.
func (d *desk) record(ctx context.Context, user string) error {
	_, err := d.redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.RPush(ctx, ordersKey(d.host.Place), user)
		p.SAdd(ctx, buyersKey(d.host.Place), user)
		return nil
	})
	if err != nil {
		return fmt.Errorf("record order: %w", err)
	}
	d.host.At(ctx, shop.Recorded)
	return nil
}

// sell is what is done while the lock is held: ask for the user, read the
// stock, compare it, write what is left. Nothing in it is atomic; the lock is
// meant to make it so.
func (d *desk) sell(ctx context.Context, user string) (shop.Outcome, error) {
	if err := d.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	switch has, err := d.redis.SIsMember(ctx, buyersKey(d.host.Place), user).Result(); {
	case err != nil:
		return "", fmt.Errorf("look for the buyer: %w", err)
	case has:
		return shop.AlreadyOrdered, nil
	}
	left, err := d.redis.Get(ctx, stockKey(d.host.Place)).Int()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("read stock: %w", err)
	}
	d.host.At(ctx, shop.Read)
	if left <= 0 {
		return shop.SoldOut, nil
	}
	if err := d.redis.Set(ctx, stockKey(d.host.Place), left-1, 0).Err(); err != nil {
		return "", fmt.Errorf("write stock: %w", err)
	}
	d.host.At(ctx, shop.Taken)
	if err := d.record(ctx, user); err != nil {
		return "", err
	}
	return shop.Accepted, nil
}
