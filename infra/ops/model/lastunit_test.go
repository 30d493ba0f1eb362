package model

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"
)

var runs = flag.Int("runs", 250, "tiny sales whose last unit must be sold")

func TestTheLastUnitOfEveryShardSells(t *testing.T) {
	t.Parallel()
	for i := range *runs {
		random := rand.New(rand.NewPCG(42, uint64(i)))
		shards := 1 + random.IntN(12)
		c := Config{
			Seed: uint64(i), Shards: shards, Stock: int64(shards + random.IntN(4)), Peak: 20 + random.Float64()*2000, Steady: true,
			Environments: 1 + random.IntN(20), TableWrites: 200 + random.Float64()*4000, Repeats: 100, NoFinalize: true,
		}
		c.Users = int(c.Stock) + random.IntN(20)
		c.Concurrency = c.Environments + random.IntN(20)
		r := play(t, c)
		if r.Left != 0 || r.Unanswered != 0 {
			t.Errorf("seed %d: %d units left of %d in %d shards, %g of %d buyers without an answer",
				i, r.Left, c.Stock, shards, r.Unanswered, c.Users)
		}
	}
	t.Logf("%d sales", *runs)
}

func TestTheNewsThatAllIsSoldSpreads(t *testing.T) {
	t.Parallel()
	cases := []struct{ shards, perShard int }{{50, 20}}
	rate, environments := 2000.0, 100
	if *large {
		cases, rate, environments = append(cases, struct{ shards, perShard int }{500, 10}), 20_000, 1000
	}
	for _, k := range cases {
		c := roomy(k.shards, rate)
		c.Environments, c.Concurrency = environments, environments
		c.Stock = int64(k.shards * k.perShard)
		c.Users, c.Repeats, c.NoFinalize = int(c.Stock)+int(2.5*rate), 20, true
		r := play(t, c)
		quiet := r.QuietAfter(0.999)
		t.Logf("%d shards: sold out after %v, 99.9 %% of the refusals from memory %v later", k.shards, r.LastSold.Round(time.Millisecond), quiet.Round(time.Millisecond))
		if r.Left != 0 || quiet > 1500*time.Millisecond {
			t.Errorf("%d shards: %d units left, quiet after %v, want within 1.5 s", k.shards, r.Left, quiet)
		}
	}
}

func TestTheTailCostsAtMostTwoAndAHalfTransactionsPerOrder(t *testing.T) {
	t.Parallel()
	cases := []struct{ shards, perShard int }{{10, 20}, {50, 20}, {50, 100}, {200, 20}}
	tries, all, sold := 0, 0, 0
	for _, k := range cases {
		c := roomy(k.shards, 20*float64(k.shards))
		c.Stock = int64(k.shards * k.perShard)
		c.Users, c.Repeats, c.NoFinalize = int(1.3*float64(c.Stock)), 20, true
		r := play(t, c)
		t.Logf("%d shards of %d: the tail's %d orders took %.2f transactions each; with those of the losers %.2f",
			k.shards, k.perShard, r.TailSold, float64(r.TailTries)/float64(r.TailSold), float64(r.TailTransactions)/float64(r.TailSold))
		tries, all, sold = tries+r.TailTries, all+r.TailTransactions, sold+r.TailSold
	}
	t.Logf("all: %.2f; with those of the losers %.2f", float64(tries)/float64(sold), float64(all)/float64(sold))
	if sold == 0 || 2*all > 5*sold {
		t.Errorf("%d transactions, %d of them the winners', for %d orders after the first shard was empty, want at most 2.5 each", all, tries, sold)
	}
}

// A user who is refused without a key costs a read where the table has room for it. Where
// it has none most of the reads are left out, and everybody still has an answer soon: the
// refusals themselves depend on reads of the sale.
func TestARefusalLooksForAnOrderWhereTheTableHasRoom(t *testing.T) {
	for _, tt := range []struct {
		reads       float64 // read units a second
		least, most float64 // share of the refusals
	}{
		{2000, 0.999, 1}, {500, 0.2, 0.8},
	} {
		c := roomy(20, 2000)
		c.Stock, c.Users, c.Repeats, c.NoFinalize, c.TableReads = 200, 6000, 20, true, tt.reads
		r := play(t, c)
		looked := r.Looked / r.Refused
		t.Logf("%7.0f read units a second: looked before %5.1f %% of the refusals, p50 %v, p99 %v, %d calls throttled",
			tt.reads, 100*looked, r.LosersP50.Round(time.Millisecond), r.LosersP99.Round(time.Millisecond), r.Throttled)
		if looked < tt.least || looked > tt.most || r.Unanswered > 0 || r.LosersP99 > time.Second {
			t.Errorf("with %g read units a second %.3f of the refusals looked, want %g to %g; %g without an answer, p99 %v",
				tt.reads, looked, tt.least, tt.most, r.Unanswered, r.LosersP99)
		}
	}
}
