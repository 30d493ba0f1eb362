package simulate

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// simulated is the sale of one seed, in a bubble of its own.
func simulated(t *testing.T, seed uint64) (r Result) {
	synctest.Test(t, func(*testing.T) {
		travel()
		r = Simulate(seed)
	})
	return r
}

// maxFailed seeds are enough to read; then the simulation ends.
const maxFailed = 3

// TestSimulation runs random sales: -seeds says how many, -seed names one.
func TestSimulation(t *testing.T) {
	first, last := uint64(1), uint64(*seeds)
	if *seed > 0 {
		first, last = *seed, *seed
	}
	var mu sync.Mutex
	var total Total
	t.Run("seeds", func(t *testing.T) {
		var next, failed atomic.Uint64
		next.Store(first)
		for worker := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint("worker ", worker), func(t *testing.T) {
				t.Parallel()
				for n := next.Add(1) - 1; n <= last; n = next.Add(1) - 1 {
					r := simulated(t, n)
					mu.Lock()
					total.Add(r)
					if *progress && total.Seeds%100 == 0 {
						fmt.Fprintln(os.Stderr, total)
					}
					mu.Unlock()
					if r.Violations == 0 {
						continue
					}
					if t.Error(r.Report()); failed.Add(1) >= maxFailed {
						return
					}
				}
			})
		}
	})
	fmt.Println(total)
}

func TestASeedBringsBackTheSameSaleOnAnyNumberOfProcessors(t *testing.T) {
	const count = 20
	hashes := map[int][]uint64{}
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, processors := range []int{1, 2} {
		runtime.GOMAXPROCS(processors)
		for n := range uint64(count) {
			hashes[processors] = append(hashes[processors], simulated(t, 1000+n).Hash)
		}
	}
	for n, one := range hashes[1] {
		if two := hashes[2][n]; one != two {
			t.Errorf("seed %d went another way on two processors", 1000+n)
		}
	}
}
