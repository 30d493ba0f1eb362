package stack

import (
	"slices"
	"testing"

	"flashsale/infra/local/template"
)

func TestWhoWaitsForAProcessIsThrottledLaterUnlessAConcurrencyIsAskedFor(t *testing.T) {
	for given, want := range map[int][]int{0: {10_000, 4000, 10, 1, 0}, 1000: {1000, 400, 10, 1, 0}} {
		account, reserved := (&Stack{o: Options{Concurrency: given}}).throttles()
		got := []int{account}
		for _, n := range []int{400, 10, 1, 0} {
			got = append(got, reserved(template.Function{ReservedConcurrency: n}))
		}
		if !slices.Equal(got, want) {
			t.Errorf("asked for %d: %d, want %d", given, got, want)
		}
	}
}
