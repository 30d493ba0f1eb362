// Package cache holds the strategies that keep the stock in Redis: locks, a counter,
// and scripts with a queue or a stream behind them.
//
// A row names one lock, what is done under it and the engine; the parts are shared.
// Locks and the counter keep stock and orders on a Redis that syncs its append-only file
// with every write, so that what they lose they lose by themselves.
package cache

import (
	"context"

	"flashsale/infra/lab/shop"
)

func Specs() []shop.Spec {
	const slow = "one buyer at a time; and a process that stands still longer than the lock lives does not renew it"
	return []shop.Spec{
		under("redis-set-nx-ex", "SET NX with an expiry; GET, compare, DECR; DEL when done: the incident",
			"the user check outlives the lock; its owner then deletes somebody else's, and several compare before any decrements",
			shop.RedisAlways, blind, compareThenDecrement),
		under("redis-set-nx-ex-set", "the incident's lock; GET, compare, SET to what is left",
			"whoever writes late brings back the units that were sold meanwhile",
			shop.RedisAlways, blind, compareThenSet),
		under("redis-token-unlock", "the incident with a random token; a script deletes only its own lock",
			"the user check outlives the lock: two are inside, and both compare before they decrement",
			shop.RedisAlways, token, compareThenDecrement),
		under("redis-token-decides", "the token lock, and a DECR whose result decides: the incident's own remedy",
			"the lock is not what protects the stock; a process that dies after DECR loses the unit",
			shop.RedisAlways, token, lookAndCount),
		under("redis-watchdog", "the token lock, renewed every third of its life while its owner works; GET, compare, DECR",
			slow, shop.RedisAlways, watchdog, compareThenDecrement),
		under("redis-fenced-set", "the watchdog's lock with a number that grows; GET and SET bring it, and Redis refuses an older one",
			"one buyer at a time; a process that dies after the SET loses the unit", shop.RedisAlways, fenced, fencedSet),
		under("redis-redlock", "RedLock on three servers, by redsync, extended while its owner works; GET, compare, DECR on the one that dies, which comes back after a lock's life",
			slow+"; the store does not check the lock", shop.RedisTrio, majority, compareThenDecrement),
		under("redis-failover", "the watchdog's lock on a primary whose replica takes over when it dies",
			slow+"; the replica lacks what the primary confirmed last", shop.RedisPair, watchdog, compareThenDecrement),
		under("redis-decr", "SISMEMBER for the buyer, DECR for the stock, INCR when it went below zero",
			"two clicks of one user pass the look together; a process that dies after DECR loses the unit",
			shop.RedisAlways, none, lookAndCount),
		script("redis-lua-queue", "one Lua script checks and counts; orders wait in memory for a worker, whose UPDATE … stock > 0 has the last word",
			"a process that dies takes the orders along that waited in it: accepted, and lost", shop.Redis, false),
		script("redis-lua-stream", "one Lua script checks, counts and appends to a stream; a consumer group writes to the database, whose UPDATE … stock > 0 has the last word",
			"Redis with snapshots forgets orders that it has accepted", shop.Redis, true),
		script("redis-lua-always", "the stream on a Redis that syncs with every write, UPDATE … stock > 0 and a unique index in the database",
			"", shop.RedisAlways, true),
		alone("redis-lua-alone", "one Lua script checks, counts and remembers the buyer, who is the order: a Redis that syncs with every write is the only store"),
		forPairs(popped("redis-pop-two", "a set of units: SPOP takes two of them, if it gives any there is an order",
			"of a set of one unit SPOP gives one, and nobody counts what it gave")),
		forPairs(alone("redis-lua-two", "redis-lua-alone for orders of one or two: the script compares the stock with what is asked for")),
	}
}

// forPairs is the same strategy in the scenarios of pairs.
func forPairs(s shop.Spec) shop.Spec {
	s.Pairs = true
	return s
}

// spec is a strategy that keeps its orders in Redis.
func spec(name, does, flaw string, need shop.Need, open func(context.Context, *desk) (shop.Strategy, error)) shop.Spec {
	return shop.Spec{
		Name: name, Family: "redis", Does: does, Flaw: flaw, Needs: []shop.Need{need}, Prepare: stockUp, Orders: recorded,
		Open: func(ctx context.Context, h shop.Host) (shop.Strategy, error) {
			return open(ctx, &desk{h, server(h.Place)})
		},
	}
}
