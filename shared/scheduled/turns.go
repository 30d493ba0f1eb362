package scheduled

import (
	"context"
	"time"

	"flashsale/shared/invocation"
)

// Turns calls turn for each of n sales, one after the other, with an equal share of the time
// that is left. turn reports whether its time ended before its work did; such a sale has
// another turn, as often as the others leave time for it.
func Turns(ctx context.Context, n int, turn func(ctx context.Context, i int) (cut bool)) {
	var left []int
	for i := range n {
		left = append(left, i)
	}
	for round := 0; round == 0 || len(left) > 0 && invocation.Outlasts(ctx, time.Duration(len(left))*minTurn); round++ {
		var cut []int
		for j, i := range left {
			share, cancel := invocation.Share(ctx, len(left)-j)
			if turn(share, i) {
				cut = append(cut, i)
			}
			cancel()
		}
		left = cut
	}
}

// minTurn is how long another turn must be at least: a pass that releases begins nothing new in
// its last two seconds.
const minTurn = 3 * time.Second
