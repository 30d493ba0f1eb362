package eligibility

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"flashsale/shared/clock/clocktest"
)

// freezable is a checker in an environment that may be frozen.
func freezable(t *testing.T) (*slowService, *Checker, *clocktest.Environment) {
	t.Helper()
	o, clock := &slowService{}, clocktest.New()
	o.set(0, http.StatusOK, yes)
	c, err := New(Options{
		URL: "https://check.example.com", Timeout: time.Second, Concurrency: 8,
		Transport: o, Now: clock.Wall, Random: func() float64 { return 0.5 },
	})
	if err != nil {
		t.Fatal(err)
	}
	return o, c, clock
}

func TestABreakersPauseIsOverWhenTheEnvironmentWasFrozen(t *testing.T) {
	for name, leap := range map[string]func(*clocktest.Environment){
		"frozen for 20 minutes":           func(c *clocktest.Environment) { c.Freeze(20 * time.Minute) },
		"its wall clock has stepped back": func(c *clocktest.Environment) { c.StepBack(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			o, c, clock := freezable(t)
			end := clock.Wall().Add(24 * time.Hour)
			o.set(0, http.StatusInternalServerError, no)
			for range maxFailures {
				c.IsEligible(t.Context(), "moutai", "alice", end)
			}
			if _, err := c.IsEligible(t.Context(), "moutai", "alice", end); !errors.Is(err, errOpen) {
				t.Fatalf("after %d failures: %v, want an open breaker", maxFailures, err)
			}
			o.set(0, http.StatusOK, yes)
			leap(clock)
			if admitted, err := c.IsEligible(t.Context(), "moutai", "alice", end); !admitted || err != nil {
				t.Errorf("admitted %t, %v; want the service to be asked", admitted, err)
			}
		})
	}
}
