package explore

import (
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"flashsale/infra/proof/harness"
)

var (
	faults  = flag.Int("faults", 1, "how many faults a plan has at most")
	overlap = flag.Bool("overlap", false, "let another's request overlap besides that many faults, instead of standing for one")
)

// budget bounds the runs of one scenario.
const budget = 1_000_000

func TestEveryPlanOfFewFaultsKeepsThePromises(t *testing.T) {
	cost := 1
	if *overlap {
		cost = 0
	}
	var mu sync.Mutex
	runs, violations := 0, 0
	t.Run("scenarios", func(t *testing.T) {
		for _, s := range scenarios {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					harness.AdvanceClock()
					got := enumerate(s, *faults, cost, budget)
					for _, text := range got.Violations {
						t.Error(text)
					}
					if !got.Complete && len(got.Violations) == 0 {
						t.Errorf("%d runs, and not every plan was walked", got.Runs)
					}
					mu.Lock()
					defer mu.Unlock()
					runs, violations = runs+got.Runs, violations+len(got.Violations)
					if *progress {
						fmt.Printf("%7d plans: %s\n", got.Runs, s.name)
					}
				})
			})
		}
	})
	fmt.Printf("scenarios=%d faults=%d plans=%d violations=%d\n", len(scenarios), *faults, runs, violations)
}

func TestAPlanWalksThroughEverySequenceOfChoicesOnce(t *testing.T) {
	var p plan
	var got []string
	for {
		// A second choice exists only behind the first one's options 1 and 2.
		run := string(rune('a' + p.choose(3)))
		if run != "a" {
			run += string(rune('x' + p.choose(2)))
		}
		p.choose(1)
		got = append(got, run)
		if !p.next() {
			break
		}
	}
	if want := []string{"a", "bx", "by", "cx", "cy"}; !slices.Equal(got, want) {
		t.Errorf("walked %v, want %v", got, want)
	}
}
