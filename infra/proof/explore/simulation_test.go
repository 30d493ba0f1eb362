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
	seeds    = flag.Int("seeds", 100, "how many random sales are simulated")
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
func simulated(t *testing.T, seed uint64, force func(*conditions)) (r Result) {
	synctest.Test(t, func(*testing.T) {
		harness.AdvanceClock()
		r = Simulate(seed, force)
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
	var total Total
	t.Run("seeds", func(t *testing.T) {
		var next, failed atomic.Uint64
		next.Store(from)
		for worker := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint("worker ", worker), func(t *testing.T) {
				t.Parallel()
				for n := next.Add(1) - 1; n <= to; n = next.Add(1) - 1 {
					r := simulated(t, n, nil)
					mu.Lock()
					total.Add(r)
					if *progress && total.Seeds%100 == 0 {
						fmt.Fprintln(os.Stderr, total)
					}
					mu.Unlock()
					if r.Violations == 0 {
						continue
					}
					if *progress { // the test's own output comes at its end
						fmt.Fprintf(os.Stderr, "seed %d: %d violations\n", n, r.Violations)
					}
					if t.Error(r.Report()); failed.Add(1) >= maxFailed {
						return
					}
				}
			})
		}
	})
	fmt.Println(total)
	if total.Seeds < 100 {
		return // too few for everything to happen
	}
	for _, c := range total.Draws.counters() {
		if *c.count == 0 {
			t.Errorf("no draw has any %s", c.name)
		}
	}
	for _, c := range total.Restores.counters() {
		if total.Seeds >= 1000 && *c.count == 0 {
			t.Errorf("no restore has any %s", c.name)
		}
	}
}

// TestSimulationUnder runs a few sales under one condition each, so that what only
// that one shows is found by a few seeds.
func TestSimulationUnder(t *testing.T) {
	for name, force := range map[string]func(*conditions){
		"several sales":   func(c *conditions) { c.sales = 4 },
		"skewed clocks":   func(c *conditions) { c.skew = farthestSkew },
		"midnight":        func(c *conditions) { c.midnight, c.slow = true, true },
		"freezes":         func(c *conditions) { c.freezes = true },
		"lagging reads":   func(c *conditions) { c.lag = true },
		"half-visibility": func(c *conditions) { c.halfVisible = true },
		"vague reasons":   func(c *conditions) { c.vagueReasons = true },
		"rough seeding":   func(c *conditions) { c.seeding = true },
		"poison":          func(c *conditions) { c.poison, c.sales = true, 2 },
		"groups":          func(c *conditions) { c.groups, c.sales = true, 3 },
		"rough groups": func(c *conditions) {
			c.groups, c.seeding, c.halfVisible, c.vagueReasons, c.lag, c.sales = true, true, true, true, true, 4
		},
		"withdrawals":       func(c *conditions) { c.withdraws = true },
		"rough withdrawals": func(c *conditions) { c.withdraws, c.seeding, c.halfVisible, c.vagueReasons = true, true, true, true },
		"payments":          func(c *conditions) { c.pays = true },
		"recalls":           func(c *conditions) { c.recalls = true },
		"rough recalls": func(c *conditions) {
			c.recalls, c.pays, c.seeding, c.halfVisible, c.vagueReasons, c.sales = true, true, true, true, true, 2
		},
		"rough payments": func(c *conditions) {
			c.pays, c.seeding, c.halfVisible, c.vagueReasons, c.sales = true, true, true, true, 2
		},
		"rough publishing": func(c *conditions) { c.pays, c.publishes = true, true },
		"draws":            func(c *conditions) { c.draws = true },
		"rough draws": func(c *conditions) {
			c.draws, c.pays, c.seeding, c.halfVisible, c.vagueReasons, c.lag, c.freezes, c.skew = true, true, true, true, true, true, true, farthestSkew
		},
		"draws that end":  func(c *conditions) { c.draws, c.recalls, c.withdraws, c.groups, c.sales = true, true, true, true, 2 },
		"restores":        func(c *conditions) { c.restores, c.withdraws, c.sales = true, true, 2 },
		"restored orders": func(c *conditions) { c.restores, c.pays, c.recalls, c.groups, c.sales = true, true, true, true, 2 },
		"rough restores": func(c *conditions) {
			c.restores, c.pays, c.seeding, c.halfVisible, c.vagueReasons, c.lag, c.freezes, c.midnight = true, true, true, true, true, true, true, true
		},
		"an outage": func(c *conditions) { c.outage, c.sales = true, 2 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var total Total
			for n := range uint64(seedsUnder) {
				r := simulated(t, 1+n, func(c *conditions) {
					*c = conditions{sales: 1, skew: usualSkew}
					force(c)
				})
				total.Add(r)
				if r.Violations > 0 {
					t.Fatal(r.Report())
				}
			}
			t.Log(total)
		})
	}
}

func TestASeedBringsBackTheSameSaleOnAnyNumberOfProcessors(t *testing.T) {
	const count = 10
	hashes := map[int][]uint64{}
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, processors := range []int{1, 2} {
		runtime.GOMAXPROCS(processors)
		for n := range uint64(count) {
			hashes[processors] = append(hashes[processors], simulated(t, 1000+n, nil).Hash)
		}
	}
	for n, one := range hashes[1] {
		if two := hashes[2][n]; one != two {
			t.Errorf("seed %d went another way on two processors", 1000+n)
		}
	}
}
