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

func TestEveryPlanOfFewFaultsKeepsThePromises(t *testing.T) {
	var mu sync.Mutex
	runs, violations := 0, 0
	t.Run("scenarios", func(t *testing.T) {
		for _, s := range scenarios {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					harness.AdvanceClock()
					plans, found := enumerate(s, *faults)
					for _, text := range found {
						t.Error(text)
					}
					mu.Lock()
					defer mu.Unlock()
					runs, violations = runs+plans, violations+len(found)
					if *progress {
						fmt.Printf("%7d plans: %s\n", plans, s.name)
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
		_, found := enumerate(scenario{name: "a unit from nowhere", sale: units(1, 1), act: do(buys("alice", ""), oneMore, buys("bob", ""))}, 0)
		if text := strings.Join(found, "\n"); !strings.Contains(text, "P2: ") {
			t.Errorf("found %q, want that two units were sold of one (P2)", text)
		}
	})
}
