package main

import (
	"errors"
	"fmt"
	"math"
	"time"

	"flashsale/infra/model"
	"flashsale/shared/sale"
)

const (
	// targetConflicts is p*, the share of transactions that may conflict.
	targetConflicts = 0.2
	// unitsPerTry is what a transaction of two small items costs, unitsToConfirm
	// what an order costs afterwards: claim, order and a share of its number.
	unitsPerTry, unitsToConfirm = 4, 2.04
	// tableQuota, lambdaQuota and gatewayQuota are an account's defaults in
	// write units, concurrent executions and requests a second.
	tableQuota, lambdaQuota, gatewayQuota = 40_000, 1000, 10_000
	// coldWrites is what a new on-demand table takes.
	coldWrites = 4000
	// perConcurrency is Lambda's limit of requests a second for each unit of
	// concurrency.
	perConcurrency = 10
	// keptFree is the part of the account's concurrency nobody may reserve.
	keptFree = 100
	// sampled is how many users are simulated after the sale is over.
	sampled = 20_000
)

// wish is what the seller knows.
type wish struct {
	users   int
	stock   int64
	peak    float64
	window  time.Duration
	latency time.Duration
	memory  int
	seed    uint64
}

func (w wish) check() error {
	switch {
	case w.users < 1 || w.users > 100_000_000:
		return errors.New("check arguments: USERS must be 1 to 100,000,000")
	case w.stock < 1 || w.stock > 5_000_000:
		return errors.New("check arguments: STOCK must be 1 to 5,000,000")
	case w.peak < 1 || w.peak > 1_000_000 || math.IsNaN(w.peak):
		return errors.New("check arguments: PEAK must be 1 to 1,000,000 requests a second")
	case w.window < time.Millisecond || w.window > 100*time.Millisecond:
		return errors.New("check arguments: W must be 1ms to 100ms")
	case w.latency < 2*time.Millisecond || w.latency > time.Second/2:
		return errors.New("check arguments: LATENCY must be 2ms to 500ms")
	case w.memory < 128 || w.memory > 10_240:
		return errors.New("check arguments: MEMORY must be 128 to 10240 MB")
	}
	return nil
}

// advice is what to configure.
type advice struct {
	shards, buckets int
	warmWrites      int
	concurrency     int // reserved
	provisioned     int
	// throttle is how many purchases a second the gateway shall let in. What
	// comes beyond the functions' concurrency would be refused by Lambda, as a
	// 503 of the gateway's; its throttle says 429 instead.
	throttle  float64
	limit     float64 // orders a second
	limitedBy string
	quotas    []string // to raise, in words
}

// advise sizes the parts for the peak: shards so that a fifth of the
// transactions conflict, the table for what they cost, and an environment for
// everybody who is inside at once.
func advise(w wish) advice {
	quota := tableQuota / (unitsPerTry/(1-targetConflicts) + unitsToConfirm)
	want := min(w.peak, quota)
	perShard := targetConflicts / w.window.Seconds()
	a := advice{shards: int(math.Ceil(want / perShard))}
	a.shards = int(max(1, min(int64(a.shards), w.stock/10, sale.MaxShards)))
	a.buckets = sale.BucketsFor(a.shards)
	a.limit, a.limitedBy = float64(a.shards)*perShard, "the shards"
	if quota < a.limit {
		a.limit, a.limitedBy = quota, "the table's quota"
	}
	// Conflicts rise above the plan while more come than can be served, and when
	// shards run empty everybody who comes before the news tries in vain.
	units := max(1.5*min(want, a.limit)*(unitsPerTry/(1-targetConflicts)+unitsToConfirm), w.peak*unitsPerTry)
	a.warmWrites = int(min(tableQuota, max(coldWrites, 1000*math.Ceil(units/1000))))
	inside := w.peak * purchaseTime(w).Seconds()
	a.provisioned = max(1, int(math.Ceil(inside)))
	a.concurrency = max(int(math.Ceil(1.2*inside)), int(math.Ceil(w.peak/perConcurrency)), 10)
	a.throttle = math.Floor(min(float64(a.concurrency)/purchaseTime(w).Seconds(), perConcurrency*float64(a.concurrency)))
	a.quotas = quotas(w, a)
	return a
}

// purchaseTime is about how long an accepted purchase takes in the function: a
// snapshot, a transaction and a quarter, a back-off now and then, a message.
func purchaseTime(w wish) time.Duration {
	cpu := time.Duration(float64(time.Millisecond) * max(1, 1769/float64(w.memory)))
	return w.latency*5/4 + 15*time.Millisecond + cpu
}

func quotas(w wish, a advice) []string {
	var out []string
	if w.peak > gatewayQuota {
		out = append(out, fmt.Sprintf("API Gateway: throttle rate of the account from %s to %s requests a second (and its burst)",
			grouped(gatewayQuota), grouped(1.2*w.peak)))
	}
	if total := a.concurrency + keptFree; total > lambdaQuota {
		out = append(out, fmt.Sprintf("Lambda: concurrent executions from %s to at least %s", grouped(lambdaQuota), grouped(float64(total))))
	}
	if a.limitedBy == "the table's quota" || a.warmWrites == tableQuota {
		out = append(out, fmt.Sprintf("DynamoDB: write units of a table above %s would sell faster", grouped(tableQuota)))
	}
	return out
}

// scene is the sale that the advice is tried on.
func scene(w wish, a advice, progress func(model.Progress)) model.Config {
	return model.Config{
		Seed: w.seed, Stock: w.stock, Shards: a.shards, Users: w.users, Peak: w.peak, Repeats: 60, Sample: sampled,
		Window: w.window, Transaction: w.latency, MemoryMB: w.memory, TableWrites: float64(a.warmWrites),
		Environments: a.provisioned, Concurrency: a.concurrency,
		RequestRate: perConcurrency * float64(a.concurrency), Progress: progress,
	}
}
