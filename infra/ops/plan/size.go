package plan

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"flashsale/infra/ops/cli"
	"flashsale/infra/ops/deploy/price"
	"flashsale/shared/sale"
)

const (
	// targetConflicts is the share of transactions that may conflict.
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
	// webhookRate and pageRouteRate are the rates of webhooks and of a route of the page in
	// template.yaml.
	webhookRate, pageRouteRate = 200, 1200
	// coldWrites is the capacity of a new on-demand table, in write units a second.
	coldWrites = 4000
	// perConcurrency is Lambda's limit of requests a second per unit of concurrency.
	perConcurrency = 10
	// keptFree is the part of the account's concurrency that cannot be reserved.
	keptFree = 100
	// operators, reconcilers, releasers, drawers and refunders are the reserved concurrency of
	// OperateFunction, ReconcileFunction, ReleaseFunction, DrawFunction and RefundFunction in template.yaml.
	operators, reconcilers, releasers, drawers, refunders = 10, 1, 1, 1, 1
)

type wish struct {
	users       int
	stock       int64
	maxPerOrder int64         // units that each order asks for
	peak        float64       // requests a second when the sale opens
	latency     time.Duration // of a transaction, the median
	writes      int           // the account's quota for a table, in write units a second
	front       bool          // CloudFront answers the sale page, so QueryFunction only serves buyers
	grouped     bool          // the sale has a limitGroup
	// drawn: the plan shows a draw beside the rush, with this much time to enter and, in each
	// call, to buy.
	drawn       bool
	enter, keep time.Duration
}

func (w wish) check() error {
	err := cmp.Or(
		cli.Between("users", w.users, 1, 100_000_000), cli.Between("stock", w.stock, 1, 5_000_000),
		cli.Between("per-order", w.maxPerOrder, 1, sale.MaxPerOrder),
		cli.Between("peak", w.peak, 1, 1_000_000), cli.Between("latency", w.latency, 2*time.Millisecond, time.Second/2),
		cli.Between("writes", w.writes, coldWrites, 1_000_000),
		cli.Between("enter", w.enter, time.Minute, 90*24*time.Hour), cli.Between("keep", w.keep, time.Hour, 7*24*time.Hour))
	if err == nil && w.keep%time.Hour != 0 {
		err = cli.Usagef("--keep must be whole hours")
	}
	return err
}

// orders is how many orders have all units.
func (w wish) orders() int64 { return (w.stock + w.maxPerOrder - 1) / w.maxPerOrder }

// unitsPerTry is the cost of a purchase's transaction.
func (w wish) unitsPerTry() float64 {
	if w.grouped {
		return 3 * unitsPerItem
	}
	return 2 * unitsPerItem
}

// window is about how long a transaction keeps an item busy: for half of its time.
func (w wish) window() time.Duration { return w.latency / 2 }

// purchaseTime is about how long an accepted purchase takes in the function: a
// snapshot, a transaction and a quarter, a back-off now and then, a message.
func (w wish) purchaseTime() time.Duration {
	const cpu = 1769 * time.Millisecond / price.Memory
	return w.latency*5/4 + 15*time.Millisecond + cpu
}

type advice struct {
	shards, buckets int
	warmWrites      int
	concurrency     int // reserved for PurchaseFunction
	provisioned     int
	finalizers      int     // reserved for FinalizeFunction, and its batches at once
	queries         int     // for QueryFunction
	queryRate       float64 // requests a second
	// throttle is how many purchases a second the gateway should admit. Beyond the
	// functions' concurrency Lambda would refuse them, with a 503 of the gateway; its
	// throttle answers 429 instead.
	throttle float64
	// advised is the orders a second at which a fifth of the transactions conflict. For a short
	// time a sale can have more, at the price of more conflicts.
	advised float64
	// ofShards, ofBuckets and ofTable are the most orders a second that each of them takes:
	// the shards while about 1 % of the buyers get "busy", the table at the advised conflicts.
	ofShards, ofBuckets, ofTable float64
}

// advise sizes the parts for the peak: shards so that a fifth of the transactions
// conflict, the table for what they cost, and an environment for every concurrent
// request.
func advise(w wish) advice {
	perOrder := w.unitsPerTry()/(1-targetConflicts) + unitsToConfirm
	want := min(w.peak, float64(w.writes)/perOrder)
	perShard := targetConflicts / w.window().Seconds()
	a := advice{shards: int(max(1, min(int64(math.Ceil(want/perShard)), w.stock/w.maxPerOrder/10, sale.MaxShards)))}
	a.buckets = sale.BucketsFor(a.shards)
	a.advised, a.ofShards = float64(a.shards)*perShard, float64(a.shards)*busyLoad/w.window().Seconds()
	a.ofBuckets = float64(a.buckets) * partitionWrites / unitsInBucket
	// Conflicts exceed the plan while there are more requests than can be served, and
	// requests try empty shards in vain until the environments have read about them.
	units := max(1.5*min(want, a.advised)*perOrder, w.peak*w.unitsPerTry())
	a.warmWrites = int(min(float64(w.writes), max(coldWrites, 1000*math.Ceil(units/1000))))
	a.ofTable = float64(a.warmWrites) / perOrder
	inside := w.peak * w.purchaseTime().Seconds()
	a.provisioned = max(1, int(math.Ceil(inside)))
	a.concurrency = max(int(math.Ceil(1.2*inside)), int(math.Ceil(w.peak/perConcurrency)), 10)
	a.throttle = math.Floor(min(float64(a.concurrency)/w.purchaseTime().Seconds(), perConcurrency*float64(a.concurrency)))
	orders := min(w.peak, a.ofShards/busyLoad, a.ofTable)
	a.finalizers = min(1000, max(20, int(math.Ceil(1.5*orders/batch*batchTime.Seconds()))))
	a.queryRate = min(float64(w.orders()), orders*waiting.Seconds()) / pollEvery.Seconds()
	if !w.front {
		a.queryRate += w.peak // everybody requests the sale page once
	}
	a.queryRate = math.Ceil(1.2 * a.queryRate)
	a.queries = max(10, int(math.Ceil(a.queryRate*queryTime.Seconds())), int(math.Ceil(a.queryRate/perConcurrency)))
	return a
}

func (a advice) reserved() int {
	return a.concurrency + a.finalizers + operators + reconcilers + releasers + drawers + refunders
}

// accountConcurrency is the quota that the advice needs.
func (a advice) accountConcurrency() int { return max(lambdaQuota, a.reserved()+a.queries+keptFree) }

// gatewayRate is the account's throttle rate that the advice needs, in requests a second.
func (a advice) gatewayRate() float64 {
	return max(gatewayQuota, a.throttle+a.queryRate+pageRouteRate+webhookRate)
}

func (a advice) quotas() []string {
	var out []string
	if rate := a.gatewayRate(); rate > gatewayQuota {
		out = append(out, fmt.Sprintf("API Gateway: throttle rate of the account from %s to %s requests a second",
			cli.Thousands(gatewayQuota), cli.Thousands(rate)))
	}
	if total := a.accountConcurrency(); total > lambdaQuota {
		out = append(out, fmt.Sprintf("Lambda: concurrent executions (environments) from %s to at least %s",
			cli.Thousands(lambdaQuota), cli.Thousands(total)))
	}
	if a.warmWrites > tableQuota {
		out = append(out, fmt.Sprintf("DynamoDB: write units a second of a table from %s to %s",
			cli.Thousands(tableQuota), cli.Thousands(a.warmWrites)))
	} else if a.warmWrites == tableQuota {
		out = append(out, fmt.Sprintf("DynamoDB: more than %s write units a second of a table would sell faster (--writes %d shows by how much)",
			cli.Thousands(tableQuota), 2*tableQuota))
	}
	return out
}
