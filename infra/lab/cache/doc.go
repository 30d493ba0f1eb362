// Package cache holds the strategies that keep the stock in Redis, one file
// each: seven ways to lock, two counters, and a script with a queue behind it.
//
// A line in here knows Redis (and, for the queues, the database behind it) as
// the code it stands for does. It is written as people write it, with the flaw
// that it is known for; the flaw is named in its Spec.
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
