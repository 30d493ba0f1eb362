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

// server is the one that holds stock and orders: the first, which is the one that dies.
func server(p shop.Place) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: p.Redis[0]})
}

func (d *desk) Close() error { return d.redis.Close() }

func stockKey(p shop.Place) string  { return "seckill:stock:" + p.Sale }
func buyersKey(p shop.Place) string { return "seckill:buyers:" + p.Sale }
func ordersKey(p shop.Place) string { return "seckill:orders:" + p.Sale }
func lockKey(p shop.Place) string   { return "lock:seckill:" + p.Sale }

func stockUp(ctx context.Context, p shop.Place) error {
	c := server(p)
	defer c.Close()
	if err := c.Set(ctx, stockKey(p), p.Stock, 0).Err(); err != nil {
		return fmt.Errorf("set stock: %w", err)
	}
	return nil
}

// recorded reads the orders as the servers have appended them.
func recorded(ctx context.Context, p shop.Place) ([]shop.Order, error) {
	c := server(p)
	defer c.Close()
	users, err := c.LRange(ctx, ordersKey(p), 0, -1).Result()
	return shop.OrdersOf(users), err
}

func (d *desk) record(ctx context.Context, user string) (shop.Outcome, error) {
	d.host.At(ctx, shop.Taken)
	_, err := d.redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.RPush(ctx, ordersKey(d.host.Place), user)
		p.SAdd(ctx, buyersKey(d.host.Place), user)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("record order: %w", err)
	}
	d.host.At(ctx, shop.Recorded)
	return shop.Accepted, nil
}

// admit asks the user service and looks for an order of the user. Its outcome is ""
// if the user may buy.
func (d *desk) admit(ctx context.Context, user string) (shop.Outcome, error) {
	if err := d.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	has, err := d.redis.SIsMember(ctx, buyersKey(d.host.Place), user).Result()
	if err != nil {
		return "", fmt.Errorf("look for the buyer: %w", err)
	}
	if has {
		return shop.AlreadyOrdered, nil
	}
	return "", nil
}

// read reads the stock, which somebody else may then change.
func (d *desk) read(ctx context.Context) (int, error) {
	left, err := d.redis.Get(ctx, stockKey(d.host.Place)).Int()
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, fmt.Errorf("read stock: %w", err)
	}
	d.host.At(ctx, shop.Read)
	return left, nil
}

// takeOne counts the stock down, and back up when there was none.
func (d *desk) takeOne(ctx context.Context) (bool, error) {
	left, err := d.redis.Decr(ctx, stockKey(d.host.Place)).Result()
	if err == nil && left < 0 {
		err = d.redis.Incr(ctx, stockKey(d.host.Place)).Err()
	}
	if err != nil {
		return false, fmt.Errorf("count down: %w", err)
	}
	return left >= 0, nil
}
