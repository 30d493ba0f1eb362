package simulate

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestEveryPlanOfFewFaultsKeepsThePromises(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				travel()
				began := time.Now()
				got := enumerate(s, *faults, 200_000)
				for _, text := range got.Violations {
					t.Error(text)
				}
				if !got.Complete && len(got.Violations) == 0 {
					t.Errorf("%d runs were not enough", got.Runs)
				}
				t.Logf("%d runs, %v of virtual time", got.Runs, time.Since(began).Round(time.Hour))
			})
		})
	}
}
