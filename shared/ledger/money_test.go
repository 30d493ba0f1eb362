package ledger

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A pass reads the claims in the order of their users, and several buckets at once.
func TestAPaceIsTheSameInWhateverOrderItCounts(t *testing.T) {
	began := time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)
	random := rand.New(rand.NewPCG(1, 2))
	for _, span := range []time.Duration{time.Millisecond, 31 * time.Second, 33 * time.Second, time.Hour, 30 * 24 * time.Hour} {
		var all []time.Time
		for range 500 {
			all = append(all, began.Add(time.Duration(random.Int64N(int64(span)))))
		}
		var first Pace
		for _, at := range all {
			first.add(at)
		}
		for try := range 5 {
			random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			if try == 0 {
				slices.SortFunc(all, func(a, b time.Time) int { return b.Compare(a) })
			}
			var again Pace
			for _, at := range all {
				again.add(at)
			}
			if again.Every != first.Every || again.First != first.First || !slices.Equal(again.Counts, first.Counts) {
				t.Errorf("%v: got %+v, and in another order %+v", span, first, again)
			}
		}
		counts := make([]int64, len(first.Counts))
		for _, at := range all {
			counts[at.Unix()/first.Every-first.First]++
		}
		if !slices.Equal(counts, first.Counts) || len(counts) > paceSteps || first.Every > 1 && len(counts) <= paceSteps/2 {
			t.Errorf("%v: got %+v, want %v in %d steps at most", span, first, counts, paceSteps)
		}
	}
}
