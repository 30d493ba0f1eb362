package scheduled

import (
	"context"
	"slices"
	"time"

	"flashsale/shared/invocation"
)

// timeSlices calls slice for each of n sales, atOnce at a time, with an equal share of the time
// that is left. slice reports whether its time ended before its work did; such a sale has
// another time slice, as often as the others leave time for it.
func timeSlices(ctx context.Context, n, atOnce int, slice func(ctx context.Context, i int) (cut bool)) {
	var left []int
	for i := range n {
		left = append(left, i)
	}
	for round := 0; round == 0 || len(left) > 0 && invocation.Outlasts(ctx, time.Duration(len(left))*minSlice); round++ {
		cut := make([]bool, n)
		var wait invocation.Group
		slots := make(chan struct{}, atOnce)
		for j, i := range left {
			slots <- struct{}{}
			share, cancel := invocation.Share(ctx, (len(left)-j+atOnce-1)/atOnce)
			wait.Go(func() {
				defer func() { <-slots }()
				defer cancel()
				cut[i] = slice(share, i)
			})
		}
		wait.Wait()
		left = slices.DeleteFunc(left, func(i int) bool { return !cut[i] })
	}
}

// minSlice is how long another time slice must be at least: a pass that releases begins nothing new in
// its last two seconds.
const minSlice = 3 * time.Second
