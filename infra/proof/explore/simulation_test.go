package explore

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"flashsale/infra/proof/harness"
)

var (
	seeds    = flag.Int("seeds", 150, "how many random sales are simulated")
	seed     = flag.Uint64("seed", 0, "simulate the sale of this seed only")
	first    = flag.Uint64("first", 1, "the first seed, to divide many of them among runs")
	progress = flag.Bool("progress", false, "tell how far the simulation has come")
)

func TestMain(m *testing.M) {
	flag.Parse()
	harness.PrepareProcess()
	os.Exit(m.Run())
}

// simulated is what a seed comes to, in a bubble of its own.
func simulated(t *testing.T, seed uint64) (r Result) {
	synctest.Test(t, func(*testing.T) {
		harness.AdvanceClock()
		r = Simulate(seed)
	})
	return r
}

// maxFailed seeds are enough to read; then the simulation ends.
const maxFailed = 3

// TestSimulation runs random sales: -seeds says how many, from the seed -first on; -seed
// names one.
func TestSimulation(t *testing.T) {
	from, to := *first, *first+uint64(*seeds)-1
	if *seed > 0 {
		from, to = *seed, *seed
	}
	var mu sync.Mutex
	total := Total{Counts: map[string]int{}}
	t.Run("seeds", func(t *testing.T) {
		var next, failed atomic.Uint64
		next.Store(from)
		for worker := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint("worker ", worker), func(t *testing.T) {
				t.Parallel()
				for n := next.Add(1) - 1; n <= to; n = next.Add(1) - 1 {
					r := simulated(t, n)
					mu.Lock()
					total.Add(r)
					if *progress && total.Seeds%100 == 0 {
						fmt.Fprintln(os.Stderr, total)
					}
					mu.Unlock()
					if len(r.Shown) == 0 {
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
	for _, name := range counters {
		if total.Seeds >= 1000 && total.Counts[name] == 0 && name != "violations" { // fewer are too few for everything to happen
			t.Errorf("there are no %s", name)
		}
	}
}

func TestASeedBringsBackTheSameSaleOnAnyNumberOfProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for n := range uint64(10) {
		runtime.GOMAXPROCS(1)
		one := simulated(t, 1000+n).Hash
		runtime.GOMAXPROCS(2)
		if two := simulated(t, 1000+n).Hash; one != two {
			t.Errorf("seed %d comes to %x on one processor, and to %x on two", 1000+n, one, two)
		}
	}
}
