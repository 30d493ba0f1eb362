package scheduled

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatASaleLeavesOverIsForThoseThatWereCutOff(t *testing.T) {
	const run = 30 // seconds
	for _, tt := range []struct {
		name   string
		work   []int     // the seconds that each sale needs
		want   []float64 // those that each has had when the run ends
		atOnce int       // 0 for one
	}{
		{"no sale", nil, nil, 0},
		{"one sale", []int{20}, []float64{20}, 0},
		{"one sale that needs too much", []int{99}, []float64{30}, 0},
		{"a long one before short ones", []int{20, 1, 2}, []float64{20, 1, 2}, 0},
		{"a long one after short ones", []int{1, 2, 27}, []float64{1, 2, 27}, 0},
		{"all need too much", []int{99, 99, 99}, []float64{10, 10, 10}, 0},
		{"two of four need too much", []int{99, 1, 99, 1}, []float64{12.375, 1, 15.625, 1}, 0},
		{"less than a time slice is left", []int{9, 99, 8, 2}, []float64{7.5, 7.5, 7.5, 2}, 0},
		{"all at once", []int{99, 20, 1}, []float64{30, 20, 1}, 3},
		{"two of three at a time", []int{99, 4, 99}, []float64{15, 4, 26}, 2},
		{"two of four at a time", []int{2, 3, 99, 28}, []float64{2, 3, 28, 27}, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), run*time.Second)
			defer cancel()
			var got []float64
			had := make([]time.Duration, len(tt.work))
			timeSlices(ctx, len(tt.work), max(1, tt.atOnce), func(ctx context.Context, i int) bool {
				began := time.Now()
				select {
				case <-time.After(time.Duration(tt.work[i])*time.Second - had[i]):
				case <-ctx.Done():
				}
				had[i] += time.Since(began)
				return ctx.Err() != nil
			})
			for _, d := range had {
				got = append(got, d.Seconds())
			}
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
			}
		})
	}
}
