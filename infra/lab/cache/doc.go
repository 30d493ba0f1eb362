// Package cache holds the strategies that keep the stock in Redis, one file
// each: seven ways to lock, two counters, and a script with a queue behind it.
//
// The code uses Redis (and, for the queues, the database behind it) as people
// write it, with the known flaw, which its Spec names.
package cache

import "flashsale/infra/lab/shop"

const family = "redis"

// Specs are all strategies of the package.
func Specs() []shop.Spec {
	return []shop.Spec{
		setThenExpire(), incident(), token(), watchdog(), reentrant(), waiting(), redlock(), failover(),
		decrement(), perUserCounter(), scriptAndQueue(), scriptAndStream(), scriptAndStreamOnDisk(),
	}
}
