package model

import (
	"flag"
	"math"
	"testing"
	"time"
)

// large also models sales with crowds that take long to simulate, with the same checks.
var large = flag.Bool("large", false, "model large sales, too; `make prove` does")

func play(t *testing.T, c Config) Result {
	t.Helper()
	r, err := In(t, c)
	if err != nil {
		t.Fatal(err)
	}
	if r.Unexpected != 0 || r.FalseSoldOut != 0 || r.Accepted != c.Stock-r.Left {
		t.Errorf("%d shards: %g unexpected answers, %d false sold-outs, %d accepted of %d taken",
			c.Shards, r.Unexpected, r.FalseSoldOut, r.Accepted, c.Stock-r.Left)
	}
	return r
}

// roomy is a configuration without limits, except that items conflict.
func roomy(shards int, rate float64) Config {
	environments := int(max(20, rate*0.07))
	return Config{
		Seed: 1, Shards: shards, Peak: rate, Steady: true, TableWrites: 1e6, TableReads: 1e6,
		Environments: environments, Concurrency: 2 * environments,
	}
}

func TestAcceptedOrdersGrowWithTheShards(t *testing.T) {
	t.Parallel()
	const target = 0.2 // p*, the planned share of conflicts
	counts := []int{1, 8, 32, 128}
	if *large {
		counts = []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}
	}
	for _, n := range counts {
		limit := float64(n) / 0.010 * target
		c := roomy(n, limit)
		c.Users = int(max(400, 1.5*limit))
		c.Stock = int64(2 * c.Users)
		c.NoFinalize = true
		r := play(t, c)
		rate := steadyRate(r, time.Duration(float64(c.Users)/limit*float64(time.Second)))
		t.Logf("%4d shards: %8.1f accepted/s of %8.1f, %.1f %% conflicts, %.2f transactions per order, p99 %v, %g give-ups",
			n, rate, limit, 100*r.ConflictRate(), float64(r.Transactions)/float64(r.Accepted), r.WinnersP99.Round(time.Millisecond), r.GiveUps)
		if rate < 0.9*limit {
			t.Errorf("%d shards: %.1f orders/s accepted, want 0.9 of %.1f", n, rate, limit)
		}
	}
}

// steadyRate is the rate of acceptances while users come, past the start.
func steadyRate(r Result, until time.Duration) float64 {
	const skip = 3 // the first requests are on their way
	sum, bins := 0, 0
	for i := skip; i < len(r.Bins) && time.Duration(i+1)*BinWidth <= until; i++ {
		sum, bins = sum+r.Bins[i].Accepted, bins+1
	}
	return float64(sum) / (float64(bins) * BinWidth.Seconds())
}

func TestConflictsFollowTheLossFormula(t *testing.T) {
	t.Parallel()
	// An item that is busy for w after each of λ accepted transactions a second
	// rejects a share of λw of those that come at random instants.
	for _, load := range []float64{5, 10, 20} {
		c := roomy(16, 16*load)
		c.Users = 800
		if *large {
			c.Users = 4000
		}
		c.Stock = int64(2 * c.Users)
		c.NoFinalize = true
		r := play(t, c)
		want := load * 0.010
		if got := r.ConflictRate(); math.Abs(got-want) > 0.05 {
			t.Errorf("%g orders/s per shard: %.3f of the transactions conflict, want about %.3f", load, got, want)
		}
	}
}

func TestWhatLimitsTheTableLimitsTheSale(t *testing.T) {
	c := roomy(64, 1280)
	c.Users, c.Stock, c.TableWrites, c.Repeats = 1000, 1000, 1000, 30
	r := play(t, c)
	if r.Throttled == 0 || r.Left != 0 {
		t.Errorf("%d calls throttled, %d units left: want throttling and a sale that ends nevertheless", r.Throttled, r.Left)
	}
	// Four write units for an order, two to confirm it, one for its number.
	if got, most := r.OrdersPerSecond(), 1000/4.0; got > 1.2*most {
		t.Errorf("%.0f orders/s from 1,000 write units a second, want at most about %.0f", got, most)
	}
	if r.Confirmed != r.Accepted {
		t.Errorf("%d confirmed of %d accepted", r.Confirmed, r.Accepted)
	}
	// A failed message comes again only after its visibility timeout.
	if wait := r.LastConfirmed - r.LastSold; wait > 5*time.Second {
		t.Errorf("the last order is confirmed %v after the last unit was sold: a batch gave up too soon", wait)
	}
}
