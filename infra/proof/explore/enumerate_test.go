package explore

import (
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"flashsale/infra/proof/harness"
)

var faults = flag.Int("faults", 1, "how many faults a plan has at most")

// budget bounds the runs of one scenario.
const budget = 1_000_000

func TestEveryPlanOfFewFaultsKeepsThePromises(t *testing.T) {
	var mu sync.Mutex
	runs, violations := 0, 0
	t.Run("scenarios", func(t *testing.T) {
		for _, s := range scenarios {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					harness.AdvanceClock()
					got := enumerate(s, *faults, budget)
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

// TestABrokenPromiseIsFound sells one unit twice behind the functions' backs.
func TestABrokenPromiseIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		harness.AdvanceClock()
		oneMore := func(s *scene) {
			if err := s.world.DB.Tamper(t.Context(), harness.TableName, "STOCK#"+s.id+"#0", "STOCK", "stock", 1); err != nil {
				t.Fatal(err)
			}
		}
		got := enumerate(scenario{name: "a unit from nowhere", sale: units(1, 1), act: do(buys("alice", ""), oneMore, buys("bob", ""))}, 0, 1)
		if text := strings.Join(got.Violations, "\n"); !strings.Contains(text, "P2: ") {
			t.Errorf("found %q, want that two units were sold of one (P2)", text)
		}
	})
}
