package enumerate

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"flashsale/infra/proof/harness"
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
	all := slices.Concat(sellingScenarios, withdrawalScenarios, paymentScenarios, eventScenarios())
	t.Run("scenarios", func(t *testing.T) {
		for _, s := range all {
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
	fmt.Printf("scenarios=%d faults=%d plans=%d violations=%d\n", len(all), *faults, runs, violations)
}
