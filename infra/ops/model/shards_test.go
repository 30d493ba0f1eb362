package model

import (
	"flag"
	"math"
	"reflect"
	"runtime"
	"testing"
	"time"

	"flashsale/infra/local/template"
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

func TestABucketLetsItsRateThroughAndNoMore(t *testing.T) {
	at := time.Unix(0, 0)
	b := newBucket(100, 100*time.Millisecond, at)
	passed := 0
	for range 1000 {
		at = at.Add(5 * time.Millisecond)
		if b.open(at) {
			b.level--
			passed++
		}
	}
	if passed < 500 || passed > 515 {
		t.Errorf("%d of 1,000 calls in 5 s passed a limit of 100 a second", passed)
	}
}

func TestAnExhaustedPartitionTakesNothingFromTheOthers(t *testing.T) {
	at := time.Unix(0, 0)
	l := newLimits(Config{PartitionWrites: 10, TableWrites: 1000, Burst: 100 * time.Millisecond}.withDefaults(), at)
	for range 3 {
		if got := l.take([]string{"hot"}, demand{units: 1, write: true}, at); len(got) > 0 {
			break
		}
	}
	if got := l.take([]string{"cold", "hot"}, demand{units: 2, write: true}, at); len(got) != 1 || got[0] != 1 {
		t.Errorf("exhausted: %v, want the hot one", got)
	}
	if got := l.take([]string{"cold"}, demand{units: 1, write: true}, at); len(got) != 0 {
		t.Errorf("exhausted: %v, want the cold one untouched", got)
	}
}

func TestLatenciesHaveTheirMedianAndTheirTail(t *testing.T) {
	var h histogram
	d := newRandomSource(1, 1)
	for range 100_000 {
		h.add(d.lognormal(20*time.Millisecond, 3), 1)
	}
	if got := h.quantile(0.5); math.Abs(got.Seconds()-0.020) > 0.001 {
		t.Errorf("median %v, want 20 ms", got)
	}
	if got := h.quantile(0.99); math.Abs(got.Seconds()-0.060) > 0.004 {
		t.Errorf("p99 %v, want 60 ms", got)
	}
}

func TestASampledCrowdIsStillCountedWhole(t *testing.T) {
	c := roomy(10, 500)
	c.Stock, c.Users, c.Sample, c.Repeats = 200, 20_000, 500, 20
	r := play(t, c)
	if r.Sampled < 2 {
		t.Errorf("each simulated user stands for %d, want several", r.Sampled)
	}
	if got := float64(r.Accepted) + r.Refused + r.Unanswered; got != float64(c.Users) {
		t.Errorf("%.0f users have an answer, want %d", got, c.Users)
	}
	if r.Accepted != 200 {
		t.Errorf("%d accepted, want every unit sold by somebody who was not sampled", r.Accepted)
	}
}

func TestAConfigurationThatMakesNoSenseIsRefused(t *testing.T) {
	for _, c := range []Config{
		{}, {Shards: 2, Stock: 1, Users: 1, Peak: 1}, {Shards: 1, Stock: 1, Users: 1},
		{Shards: 1, Stock: 1, Users: 1, Peak: 1, Window: -1}, {Shards: 1, Stock: 1, Users: 1, Peak: 1, Environments: 2, Concurrency: 1},
	} {
		if _, err := Run(c); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}

func TestOneSeedGivesOneResult(t *testing.T) {
	// On several processors goroutines that wake at one instant run in any order.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	c := Config{
		Seed: 7, Shards: 20, Stock: 300, Users: 4000, Peak: 800, Repeats: 20, Sample: 500, TableWrites: 3000,
		Environments: 20, Concurrency: 60, Partitions: 3,
	}
	first, second := play(t, c), play(t, c)
	if !reflect.DeepEqual(first, second) {
		t.Errorf("the same seed gave\n%+v and\n%+v", first.Counts, second.Counts)
	}
	c.Seed = 8
	if other := play(t, c); reflect.DeepEqual(first.Counts, other.Counts) {
		t.Error("another seed gave the same result: it decides nothing")
	}
}

func TestTheModelGathersMessagesAsTheTemplateSays(t *testing.T) {
	s, err := template.Load("../../../template.yaml", template.Options{
		Parameters: map[string]string{"JwtIssuer": "http://127.0.0.1", "JwtAudience": "model"},
		TableName:  tableName, QueueURL: func(name string) string { return "http://127.0.0.1/" + name },
	})
	if err != nil {
		t.Fatal(err)
	}
	c := Config{}.withDefaults()
	var sources []template.QueueSource
	for _, f := range s.Functions {
		sources = append(sources, f.Queues...)
	}
	if len(sources) != 1 || sources[0].BatchSize != c.Batch || sources[0].Window != c.Gather {
		t.Errorf("the template's sources are %+v, the model gathers %d for %v", sources, c.Batch, c.Gather)
	}
}

// burden is the cost of confirming an order.
type burden struct {
	writes      float64 // write units
	invocations float64
	busy        time.Duration
}

// confirming returns the cost per order that finalizing adds to the same sale.
func confirming(t *testing.T, batch int, window time.Duration) burden {
	t.Helper()
	c := roomy(64, 1000)
	c.Stock, c.Users, c.Repeats, c.TableWrites = 1000, 1000, 10, 40_000
	if *large {
		c.Stock, c.Users = 4000, 4000
	}
	c.Batch, c.Gather = batch, window
	with := play(t, c)
	c.NoFinalize = true
	without := play(t, c)
	n := float64(c.Stock)
	b := burden{
		(with.WriteUnits - without.WriteUnits) / n, (with.Invocations - without.Invocations) / n,
		time.Duration(float64(with.Busy-without.Busy) / n),
	}
	t.Logf("up to %3d messages in %2v: %.2f write units, %.3f invocations, %v per order; the last order %v after the last sale",
		batch, window, b.writes, b.invocations, b.busy.Round(10*time.Microsecond), (with.LastConfirmed - with.LastSold).Round(10*time.Millisecond))
	return b
}

// Batches of 25 fill the statements' limit of one call: smaller ones cost more
// for each order, larger ones nothing less, and they make the first of them wait.
func TestTheTemplatesBatchIsTheSmallestOfTheCheapOnes(t *testing.T) {
	t.Parallel()
	c := Config{}.withDefaults()
	chosen := confirming(t, c.Batch, c.Gather)
	for _, smaller := range []burden{confirming(t, 10, c.Gather), confirming(t, c.Batch, time.Millisecond)} {
		if smaller.writes <= chosen.writes || smaller.busy <= chosen.busy {
			t.Errorf("a smaller batch costs %+v, the template's %+v", smaller, chosen)
		}
	}
	if larger := confirming(t, 100, c.Gather); larger.writes < 0.98*chosen.writes || larger.busy < chosen.busy*95/100 {
		t.Errorf("a larger batch costs %+v, the template's %+v", larger, chosen)
	}
}
