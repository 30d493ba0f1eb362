package cache

import "flashsale/infra/lab/shop"

// failover is the watchdog's lock on a primary with a replica. Replication is
// asynchronous: what the primary confirmed last, lock, stock and orders alike,
// the replica that takes its place has never seen.
func failover() shop.Spec {
	return lockedSpec("redis-failover", "the watchdog's lock on a primary whose replica takes over when it dies",
		"the replica lacks what the primary confirmed last: orders are gone, and a lock is free that is held",
		shop.RedisPair, func(d *desk) *locked { return &locked{desk: d, lock: renewedLock{tokenLock{d}}} })
}
