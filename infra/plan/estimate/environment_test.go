package estimate

import (
	"container/heap"
	"math/rand/v2"
	"testing"
)

// An environment that finds shard after shard empty and cannot record it tries six of them,
// with pauses, and answers "busy" within the function's time (P16).
func TestAnEmptyShardThatCannotBeRecordedIsATry(t *testing.T) {
	never := &store{rate: 1} // what it could hold is 0
	for _, c := range []struct {
		name          string
		reads, writes *store
	}{
		{"the sale item is throttled", never, never},
		{"the sale item can be read but not written", &store{}, never},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(100) {
				w := &world{
					Sale: Sale{Shards: 1000}, random: rand.New(rand.NewPCG(seed, 7)), closed: map[int]bool{},
					stock: make([]int, 1000), busy: make([]float64, 1000), units: &store{}, reads: c.reads, writes: c.writes,
				}
				e := newEnvironment()
				e.learn(map[int]bool{}, -1, true)
				answers, busy := 0, false
				w.try(e, 0, func(b bool) { answers, busy = answers+1, b })
				for len(w.queue) > 0 && w.now < 6 {
					next := heap.Pop(&w.queue).(event)
					w.now = next.at
					next.do()
				}
				if answers != 1 || !busy || w.Transactions != tries || w.now > 5.5 {
					t.Fatalf("seed %d: %d answers (busy: %t) after %.1f s and %v transactions, want one \"busy\" within 5.5 s and 6 transactions",
						seed, answers, busy, w.now, w.Transactions)
				}
			}
		})
	}
}
