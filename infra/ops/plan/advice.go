package main

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"flashsale/infra/kit/arguments"
	"flashsale/shared/sale"
)

const (
	// targetConflicts is p*, the share of transactions that may conflict.
	targetConflicts = 0.2
	// unitsPerItem is the cost of a small item in a transaction, unitsToConfirm the
	// cost of confirming an order: claim, order and a share of the sequence.
	unitsPerItem, unitsToConfirm = 2, 2.04
	// busyLoad is the share of time an item is in a transaction when 1 % of the buyers
	// get "busy": six tries, each on another shard.
	busyLoad = 0.5
	// unitsInBucket is an order's write units in its claim bucket: two for the claim,
	// about one for tries that conflict, one to confirm it.
	unitsInBucket = 4
	// partitionWrites is DynamoDB's limit for one partition, in write units a second.
	partitionWrites = 1000
	// batch is the size of finalize's batches, and batchTime about how long one takes.
	batch, batchTime = 25, 100 * time.Millisecond
	// queryTime is about how long QueryFunction takes, pollEvery how often a winner
	// polls, and waiting the longest time until an order is confirmed.
	queryTime, pollEvery, waiting = 10 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second
	// tableQuota, lambdaQuota and gatewayQuota are an account's defaults in
	// write units of a table, concurrent executions and requests a second.
	tableQuota, lambdaQuota, gatewayQuota = 40_000, 1000, 10_000
	// gatewayBurst is an account's burst at that rate. AWS raises it with the rate, by a rule
	// that it does not publish, so a route gets no larger one.
	gatewayBurst = 5000
	// webhookRate is PaymentThrottle's rate in template.yaml.
	webhookRate = 200
	// pageRouteRate is PageThrottle's rate in template.yaml.
	pageRouteRate = 1200
	// coldWrites is the capacity of a new on-demand table, in write units a second.
	coldWrites = 4000
	// perConcurrency is Lambda's limit of requests a second per unit of concurrency.
	perConcurrency = 10
	// keptFree is the part of the account's concurrency that cannot be reserved.
	keptFree = 100
)

// wish is the seller's input.
type wish struct {
	users   int
	stock   int64
	peak    float64
	window  time.Duration
	latency time.Duration
	memory  int
	// writes is the account's quota for a table, in write units a second.
	writes int
	// front: CloudFront answers the sale page, so QueryFunction only serves buyers.
	front  bool
	region string // for the prices
	// grouped: the sale has a limitGroup.
	grouped bool
	// drawn: the plan shows a draw beside the rush, with this much time to enter and, in each
	// call, to buy.
	drawn       bool
	enter, keep time.Duration
}

// unitsPerTry is the cost of a purchase's transaction.
func (w wish) unitsPerTry() float64 {
	if w.grouped {
		return 3 * unitsPerItem
	}
	return 2 * unitsPerItem
}

func (w wish) check() error {
	err := cmp.Or(
		arguments.Between("users", w.users, 1, 100_000_000), arguments.Between("stock", w.stock, 1, 5_000_000),
		arguments.Between("peak", w.peak, 1, 1_000_000),
		arguments.Between("w", w.window, time.Millisecond, 100*time.Millisecond), arguments.Between("latency", w.latency, 2*time.Millisecond, time.Second/2),
		arguments.Between("memory", w.memory, 128, 10_240), arguments.Between("writes", w.writes, coldWrites, 1_000_000))
	if err == nil && w.drawn {
		err = w.checkDraw()
	}
	return err
}

// advice is the recommended configuration.
type advice struct {
	shards, buckets int
	warmWrites      int
	concurrency     int // reserved for PurchaseFunction
	provisioned     int
	finalizers      int     // reserved for FinalizeFunction, and its batches at once
	queries         int     // reserved for QueryFunction
	queryRate       float64 // requests a second
	// throttle is how many purchases a second the gateway should admit. Beyond the
	// functions' concurrency Lambda would refuse them, with a 503 of the gateway; its
	// throttle answers 429 instead.
	throttle float64
	rates    rates
	quotas   []string // to raise, in words
}

// rates are orders a second.
type rates struct {
	// advised is the rate at which a fifth of the transactions conflict, busy at which
	// about 1 % of the buyers get "busy", and ceiling at which the shards are in
	// transactions all the time. For a short time a sale can exceed advised, at the
	// price of more conflicts.
	advised, busy, ceiling float64
	// buckets is the ceiling of the claim buckets, table that of the write units at
	// the advised share of conflicts.
	buckets, table float64
}

// reserved is the reserved concurrency of all functions.
func (a advice) reserved() int {
	return a.concurrency + a.finalizers + a.queries + operators + reconcilers + releasers + drawers
}

// accountConcurrency is the quota that the advice needs.
func (a advice) accountConcurrency() int { return max(lambdaQuota, a.reserved()+keptFree) }

// gatewayRate is the account's throttle rate that the advice needs, in requests a second.
func (a advice) gatewayRate() float64 {
	return max(gatewayQuota, a.throttle+a.queryRate+pageRouteRate+webhookRate)
}

// burst is the throttle's burst beside a rate of requests a second.
func burst(rate float64) float64 { return min(rate, gatewayBurst) }

// pageReads is how many read units a second the sale's page costs while all requests to
// QueryFunction are for it, or with a front one a second of each of its caches: an environment
// that serves it reads the sale consistently, at most once a second, and up to 100 shards
// eventually consistently, half a unit each.
func (a advice) pageReads(front bool) float64 {
	environments := math.Ceil(a.queryRate * queryTime.Seconds())
	if front {
		environments = min(environments, caches)
	}
	return environments * (1 + float64(min(a.shards, 100))/2)
}

func (a advice) pageReadsAdvice(front bool) string {
	if a.pageReads(front) <= warmReads {
		return ""
	}
	return fmt.Sprintf("; beyond %s they take reads from purchases: use a front, or raise WarmReadUnitsPerSecond", grouped(warmReads))
}

// warmReads is the default of WarmReadUnitsPerSecond in template.yaml, and how many read
// units a second every on-demand table serves at once.
const warmReads = 12_000

// operators, reconcilers, releasers and drawers are the reserved concurrency of
// OperateFunction, ReconcileFunction, ReleaseFunction and DrawFunction in template.yaml.
const operators, reconcilers, releasers, drawers = 10, 1, 1, 1

// advise sizes the parts for the peak: shards so that a fifth of the transactions
// conflict, the table for what they cost, and an environment for every concurrent
// request.
func advise(w wish) advice {
	perOrder := w.unitsPerTry()/(1-targetConflicts) + unitsToConfirm
	want := min(w.peak, float64(w.writes)/perOrder)
	perShard := targetConflicts / w.window.Seconds()
	a := advice{shards: int(math.Ceil(want / perShard))}
	a.shards = int(max(1, min(int64(a.shards), w.stock/10, sale.MaxShards)))
	a.buckets = sale.BucketsFor(a.shards)
	a.rates = rates{
		advised: float64(a.shards) * perShard, busy: float64(a.shards) * busyLoad / w.window.Seconds(),
		ceiling: float64(a.shards) / w.window.Seconds(), buckets: float64(a.buckets) * partitionWrites / unitsInBucket,
	}
	// Conflicts exceed the plan while there are more requests than can be served, and
	// requests try empty shards in vain until the environments have read about them.
	units := max(1.5*min(want, a.rates.advised)*perOrder, w.peak*w.unitsPerTry())
	a.warmWrites = int(min(float64(w.writes), max(coldWrites, 1000*math.Ceil(units/1000))))
	a.rates.table = float64(a.warmWrites) / perOrder
	inside := w.peak * purchaseTime(w).Seconds()
	a.provisioned = max(1, int(math.Ceil(inside)))
	a.concurrency = max(int(math.Ceil(1.2*inside)), int(math.Ceil(w.peak/perConcurrency)), 10)
	a.throttle = math.Floor(min(float64(a.concurrency)/purchaseTime(w).Seconds(), perConcurrency*float64(a.concurrency)))
	orders := min(w.peak, a.rates.ceiling, a.rates.table)
	a.finalizers = min(1000, max(20, int(math.Ceil(1.5*orders/batch*batchTime.Seconds()))))
	a.queryRate = min(float64(w.stock), orders*waiting.Seconds()) / pollEvery.Seconds()
	if !w.front {
		a.queryRate += w.peak // everybody requests the sale page once
	}
	a.queryRate = math.Ceil(1.2 * a.queryRate)
	a.queries = max(10, int(math.Ceil(a.queryRate*queryTime.Seconds())), int(math.Ceil(a.queryRate/perConcurrency)))
	a.quotas = quotas(a)
	return a
}

// purchaseTime is about how long an accepted purchase takes in the function: a
// snapshot, a transaction and a quarter, a back-off now and then, a message.
func purchaseTime(w wish) time.Duration {
	cpu := time.Duration(float64(time.Millisecond) * max(1, 1769/float64(w.memory)))
	return w.latency*5/4 + 15*time.Millisecond + cpu
}

func quotas(a advice) []string {
	var out []string
	if rate := a.gatewayRate(); rate > gatewayQuota {
		out = append(out, fmt.Sprintf("API Gateway: throttle rate of the account from %s to %s requests a second", grouped(gatewayQuota), grouped(rate)))
	}
	if total := a.accountConcurrency(); total > lambdaQuota {
		out = append(out, fmt.Sprintf("Lambda: concurrent executions (environments) from %s to at least %s", grouped(lambdaQuota), grouped(float64(total))))
	}
	if a.warmWrites > tableQuota {
		out = append(out, fmt.Sprintf("DynamoDB: write units a second of a table from %s to %s", grouped(tableQuota), grouped(float64(a.warmWrites))))
	} else if a.warmWrites == tableQuota {
		out = append(out, fmt.Sprintf("DynamoDB: more than %s write units a second of a table would sell faster (WRITES=%d shows by how much)", grouped(tableQuota), 2*tableQuota))
	}
	return out
}
