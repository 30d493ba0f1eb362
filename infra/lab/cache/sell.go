package cache

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
)

// sale is what is done for one buyer, under a lock or without. fence is the number
// of the lock's owner, 0 if the lock has none.
type sale func(ctx context.Context, d *desk, user string, fence int64) (shop.Outcome, error)

// compareThenDecrement is the incident's: nothing is lost, and everybody who has
// compared before the last unit went decrements.
func compareThenDecrement(ctx context.Context, d *desk, user string, _ int64) (shop.Outcome, error) {
	return compareThen(ctx, d, user, func(int) error { return d.redis.Decr(ctx, stockKey(d.host.Place)).Err() })
}

// compareThenSet writes what it knew to be left, and brings back what others sold.
func compareThenSet(ctx context.Context, d *desk, user string, _ int64) (shop.Outcome, error) {
	return compareThen(ctx, d, user, func(left int) error { return d.redis.Set(ctx, stockKey(d.host.Place), left-1, 0).Err() })
}

func compareThen(ctx context.Context, d *desk, user string, write func(left int) error) (shop.Outcome, error) {
	if refused, err := d.admit(ctx, user); err != nil || refused != "" {
		return refused, err
	}
	left, err := d.read(ctx)
	if err != nil {
		return "", err
	}
	if left <= 0 {
		return shop.SoldOut, nil
	}
	if err := write(left); err != nil {
		return "", fmt.Errorf("write stock: %w", err)
	}
	return d.record(ctx, user)
}

// Reading brings the number, too: a late owner's write must not fall between the next
// one's read and write.
var (
	fencedGet = redis.NewScript(`
if tonumber(ARGV[1]) < tonumber(redis.call('get', KEYS[2]) or '0') then
	return -1
end
redis.call('set', KEYS[2], ARGV[1])
return tonumber(redis.call('get', KEYS[1]) or '0')`)
	fencedWrite = redis.NewScript(`
if tonumber(ARGV[1]) < tonumber(redis.call('get', KEYS[2]) or '0') then
	return 0
end
redis.call('set', KEYS[1], ARGV[2])
return 1`)
)

// fencedSet writes what it knew to be left, unless a later owner has been there.
func fencedSet(ctx context.Context, d *desk, user string, fence int64) (shop.Outcome, error) {
	if refused, err := d.admit(ctx, user); err != nil || refused != "" {
		return refused, err
	}
	keys := []string{stockKey(d.host.Place), stockKey(d.host.Place) + ":fence"}
	left, err := fencedGet.Run(ctx, d.redis, keys, fence).Int()
	d.host.At(ctx, shop.Read)
	switch {
	case err != nil:
		return "", fmt.Errorf("read stock: %w", err)
	case left < 0:
		return shop.Busy, nil
	case left == 0:
		return shop.SoldOut, nil
	}
	switch ok, err := fencedWrite.Run(ctx, d.redis, keys, fence, left-1).Bool(); {
	case err != nil:
		return "", fmt.Errorf("write stock: %w", err)
	case !ok:
		return shop.Busy, nil
	}
	return d.record(ctx, user)
}

// lookAndCount is atomic about the unit. Look and count are two commands: clicks
// that come at once all pass the look.
func lookAndCount(ctx context.Context, d *desk, user string, _ int64) (shop.Outcome, error) {
	if refused, err := d.admit(ctx, user); err != nil || refused != "" {
		return refused, err
	}
	d.host.At(ctx, shop.Read)
	if ok, err := d.takeOne(ctx); err != nil || !ok {
		return shop.SoldOut, err
	}
	return d.record(ctx, user)
}

// popped describes a strategy whose stock is a set of units.
func popped(name, does, flaw string) shop.Spec {
	s := under(name, does, flaw, shop.RedisAlways, none, pop)
	s.Prepare = func(ctx context.Context, p shop.Place) error {
		c := server(p)
		defer c.Close()
		units := make([]any, p.Stock)
		for i := range units {
			units[i] = i
		}
		return c.SAdd(ctx, unitsKey(p), units...).Err()
	}
	return s
}

func unitsKey(p shop.Place) string { return "seckill:units:" + p.Sale }

// pop takes the units out of the set, and calls whatever it gets an order.
func pop(ctx context.Context, d *desk, user string, _ int64) (shop.Outcome, error) {
	if refused, err := d.admit(ctx, user); err != nil || refused != "" {
		return refused, err
	}
	units, err := d.redis.SPopN(ctx, unitsKey(d.host.Place), int64(shop.Units(user))).Result()
	if err != nil || len(units) == 0 {
		return shop.SoldOut, err
	}
	return d.record(ctx, user)
}
