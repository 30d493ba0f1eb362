package sale

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestSharesSumToTheTotalAndDifferByAtMostOne(t *testing.T) {
	for total := int64(1); total <= 120; total++ {
		for n := 1; n <= 40; n++ {
			sum, last := int64(0), Share(total, 0, n)
			least := last
			for k := range n {
				share := Share(total, k, n)
				if share > last {
					t.Fatalf("Share(%d, %d, %d) = %d after %d: the remainder goes to the first shards", total, k, n, share, last)
				}
				sum, last, least = sum+share, share, min(least, share)
			}
			if sum != total || Share(total, 0, n)-least > 1 {
				t.Fatalf("%d units on %d shards: sum %d, from %d to %d", total, n, sum, least, Share(total, 0, n))
			}
		}
	}
}

func TestShardsForARate(t *testing.T) {
	for _, tt := range []struct {
		rate, stock int64
		want        int
	}{
		{1, 100, 1}, {20, 100, 1}, {21, 100, 2}, {1000, 100, 10}, {1000, 100_000, 50},
		{1000, 9, 1}, {1000, 1, 1}, {MaxOrdersPerSecond, MaxStock, MaxShards}, {1 << 40, MaxStock, MaxShards},
	} {
		if got := ShardsFor(tt.rate, tt.stock); got != tt.want {
			t.Errorf("ShardsFor(%d, %d) = %d, want %d", tt.rate, tt.stock, got, tt.want)
		}
	}
	for shards := 1; shards <= MaxShards; shards++ {
		if b := BucketsFor(shards); b*4 < shards || (b-1)*4 >= shards {
			t.Fatalf("BucketsFor(%d) = %d, want a quarter, rounded up", shards, b)
		}
	}
}

// The values were computed by an independent implementation. They must never
// change: claims are stored under them (P3).
func TestAUserHasTheSameBucketForever(t *testing.T) {
	golden := map[string][4]int{
		"alice":  {0, 1, 0, 191},
		"bob":    {0, 0, 5, 156},
		"用户":     {0, 1, 11, 139},
		"a":      {0, 1, 3, 83},
		"user#1": {0, 0, 6, 72},
	}
	for user, want := range golden {
		got := [4]int{BucketOf(user, 1), BucketOf(user, 2), BucketOf(user, 13), BucketOf(user, 250)}
		if got != want {
			t.Errorf("buckets of %q are %v, want %v", user, got, want)
		}
	}
}

func TestUsersSpreadEvenlyOverBucketsAndShards(t *testing.T) {
	const users, shards, buckets = 20_000, 20, 5
	perShard, perPair := [shards]int{}, [shards][buckets]int{}
	for i := range users {
		user := fmt.Sprintf("user-%d", i)
		k := ShardFor(user, 0, &Set{}, shards)
		perShard[k]++
		perPair[k][BucketOf(user, buckets)]++
	}
	for k, n := range perShard {
		if n < 800 || n > 1200 {
			t.Errorf("shard %d has %d of %d users, want about 1,000", k, n, users)
		}
		for b, n := range perPair[k] {
			if n < 130 || n > 270 {
				t.Errorf("shard %d and bucket %d share %d users, want about 200: they depend on each other", k, b, n)
			}
		}
	}
}

func TestTheShardIsAlwaysAnOpenOneAndTheNextTryAnother(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, shards := range []int{1, 2, 3, 5, 64, 65, 130} {
		for _, closed := range []int{0, 1, shards / 2, shards - 2, shards - 1, shards} {
			if closed < 0 || closed > shards {
				continue
			}
			var empty Set
			for _, k := range r.Perm(shards)[:closed] {
				empty.Add(k)
			}
			open := shards - closed
			reached := map[int]bool{}
			for i := range 60 * shards {
				user := fmt.Sprintf("user-%d", i)
				last := -1
				for try := range 8 {
					k := ShardFor(user, try, &empty, shards)
					if open == 0 {
						if k != -1 {
							t.Fatalf("shard %d of %d, all closed", k, shards)
						}
						continue
					}
					if k < 0 || k >= shards || empty.Has(k) {
						t.Fatalf("shard %d of %d is closed or does not exist", k, shards)
					}
					if open > 1 && k == last {
						t.Fatalf("%s, try %d: shard %d again, with %d open", user, try, k, open)
					}
					last, reached[k] = k, true
				}
			}
			if len(reached) != open {
				t.Errorf("%d of %d open shards reached", len(reached), open)
			}
		}
	}
}

func TestWhatIsTakenLeavesTheShardsEven(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		stock := make([]int64, 1+random.IntN(20))
		total := int64(0)
		for k := range stock {
			stock[k] = random.Int64N(1 + random.Int64N(50))
			total += stock[k]
		}
		units := 1 + random.Int64N(total+5)
		takes := Level(stock, units)
		taken, lowest, highest := int64(0), int64(math.MaxInt64), int64(0)
		for k, n := range takes {
			if taken += n; n < 0 || n > stock[k] {
				t.Fatalf("Level(%v, %d) = %v takes what is not there", stock, units, takes)
			}
			left := stock[k] - n
			highest = max(highest, left)
			if n > 0 {
				lowest = min(lowest, left)
			}
		}
		if taken != min(units, total) {
			t.Fatalf("Level(%v, %d) = %v takes %d", stock, units, takes, taken)
		}
		// Shards that gave units keep as many as the others, up to a remainder of one.
		if lowest < highest-1 {
			t.Fatalf("Level(%v, %d) = %v leaves %d and %d", stock, units, takes, lowest, highest)
		}
	}
}
