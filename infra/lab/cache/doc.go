// Package cache holds the strategies that keep the stock in Redis: locks, counters,
// and scripts with a queue or a stream behind them.
//
// A row names one lock, what is done under it and the engine; the parts are shared.
// Locks and counters keep stock and orders on a Redis that syncs its append-only file
// with every write, so that what they lose they lose by themselves; the rows named
// "-snapshots" do not.
package cache

import (
	"context"

	"flashsale/infra/lab/shop"
)

// Specs are all strategies of the package.
func Specs() []shop.Spec {
	const slow = "one buyer at a time; and a process that stands still longer than the lock lives does not renew it"
	return []shop.Spec{
		under("redis-setnx-expire", "SETNX, then EXPIRE; GET, compare, DECR; DEL when done",
			"a process that dies between SETNX and EXPIRE leaves the lock behind forever: nobody buys any more",
			shop.RedisAlways, twoStep, compareThenDecrement),
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
		dates(under("redis-getset", "SETNX with the time at which it ends, GETSET when that is over: the lock of Redis's old manual; GET, compare, DECR",
			"a server whose clock is wrong finds every lock ended, or leaves its own for long; and the user check outlives it",
			shop.RedisAlways, dated, compareThenDecrement)),
		under("redis-watchdog", "the token lock, renewed every third of its life while its owner works; GET, compare, DECR",
			slow, shop.RedisAlways, watchdog, compareThenDecrement),
		under("redis-watchdog-set", "the watchdog's lock; GET, compare, SET",
			slow+", and brings units back", shop.RedisAlways, watchdog, compareThenSet),
		under("redis-watchdog-snapshots", "the watchdog's lock and DECR on a Redis that saves snapshots",
			slow+"; what Redis has not saved dies with it", shop.Redis, watchdog, compareThenDecrement),
		under("redis-fenced-set", "the watchdog's lock with a number that grows; GET and SET bring it, and Redis refuses an older one",
			"one buyer at a time; a process that dies after the SET loses the unit", shop.RedisAlways, fenced, fencedSet),
		under("redis-reentrant", "a hash of owner and count, its owner may take the lock again, renewed; GET, compare, DECR",
			slow, shop.RedisAlways, reentrant, compareThenDecrement),
		under("redis-pubsub", "the re-entrant lock; who finds it taken waits for the message that it is free",
			slow+"; a message that nobody listens to is gone", shop.RedisAlways, notified, compareThenDecrement),
		under("redis-redlock", "RedLock on three servers, by redsync; GET, compare, DECR on the one that dies",
			"nobody renews it: the user check outlives the lock, and there is no fencing",
			shop.RedisTrio, majority(false), compareThenDecrement),
		under("redis-redlock-renewed", "RedLock, extended while its owner works; a server that died comes back after a lock's life",
			slow, shop.RedisTrioDelayed, majority(true), compareThenDecrement),
		under("redis-failover", "the watchdog's lock on a primary whose replica takes over when it dies",
			slow+"; the replica lacks what the primary confirmed last", shop.RedisPair, watchdog, compareThenDecrement),
		under("redis-failover-min-replicas", "the same on a primary that refuses to write without its replica",
			slow+"; what is on the way when the replica is cut off is lost", shop.RedisPairMin, watchdog, compareThenDecrement),
		under("redis-failover-wait", "the same, and WAIT for the replica before the buyer is told yes",
			slow+"; a decrement without its order may be what the replica has", shop.RedisPair, watchdog, waitForReplica(compareThenDecrement)),
		counter("redis-decr", "SISMEMBER for the buyer, DECR for the stock, INCR when it went below zero",
			"two clicks of one user pass the look together; a process that dies after DECR loses the unit",
			shop.RedisAlways, lookAndCount),
		counter("redis-decr-snapshots", "the same on a Redis that saves snapshots",
			"as redis-decr; what Redis has not saved dies with it", shop.Redis, lookAndCount),
		counter("redis-hincrby", "HINCRBY for the user's clicks, then DECR for the stock; both put back when there is none left",
			"a process that dies between the counters and the order loses the unit, and shuts its buyer out",
			shop.RedisAlways, countTwice),
		userLock(),
		script("redis-lua-queue", "one Lua script checks and counts; orders wait in memory for a worker that writes them to the database",
			"a process that dies takes the orders along that waited in it: accepted, and lost",
			shop.Redis, delivery{}),
		script("redis-lua-queue-rebuilt", "the same; the worker's UPDATE … stock > 0 has the last word",
			"as redis-lua-queue; after a Redis died with its data the database refuses what was sold twice, and its buyer was told yes",
			shop.Redis, delivery{checked: true}),
		script("redis-lua-stream", "one Lua script checks, counts and appends to a stream; a consumer group writes to the database",
			"Redis with snapshots forgets what it said since the last one: orders are lost, and their units sold again",
			shop.Redis, delivery{stream: true}),
		script("redis-lua-stream-rebuilt", "the same; the worker's UPDATE … stock > 0 has the last word",
			"Redis with snapshots forgets orders that it has accepted", shop.Redis, delivery{stream: true, checked: true}),
		script("redis-lua-stream-aof", "the stream on a Redis that syncs its append-only file every second",
			"the file survives a process that dies, not the machine: up to a second of orders", shop.RedisAppend, delivery{stream: true}),
		script("redis-lua-always", "the stream on a Redis that syncs with every write, UPDATE … stock > 0 and a unique index in the database",
			"", shop.RedisAlways, delivery{stream: true, checked: true}),
		script("redis-failover-stream", "the stream on a primary whose replica takes over when it dies",
			"the replica lacks what the primary confirmed last, and sells it again", shop.RedisPair, delivery{stream: true, checked: true}),
		script("redis-failover-stream-wait", "the same, and WAIT for the replica before the buyer is told yes",
			"a winner who is told to try again may be the one whose order is lost", shop.RedisPair, delivery{stream: true, checked: true, wait: true}),
	}
}

// dates marks a strategy that decides by its servers' clocks.
func dates(s shop.Spec) shop.Spec {
	s.ReadsClock = true
	return s
}

// spec is a strategy that keeps its orders in Redis.
func spec(name, does, flaw string, need shop.Need, open func(context.Context, *desk) (shop.Strategy, error)) shop.Spec {
	return shop.Spec{
		Name: name, Family: "redis", Does: does, Flaw: flaw, Needs: []shop.Need{need}, Prepare: stockUp, Orders: recorded,
		Open: func(ctx context.Context, h shop.Host) (shop.Strategy, error) { return open(ctx, newDesk(h)) },
	}
}
