package invocation

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// lasting returns a context with that much time left, like Lambda's: its deadline has
// no monotonic reading.
func lasting(t *testing.T, left time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Round(0).Add(left))
	t.Cleanup(cancel)
	return ctx
}

func TestABoundContextEndsHalfASecondBeforeTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, cancel := Bound(lasting(t, 6*time.Second))
		defer cancel()
		<-ctx.Done()
		if took := time.Since(began); took != 5500*time.Millisecond || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("it ended after %v with %v, want 5.5 s and its deadline", took, ctx.Err())
		}

		ctx, cancel = Bound(lasting(t, Margin-time.Millisecond))
		defer cancel()
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("within the margin the context says %v, want it over at once", ctx.Err())
		}
	})
}

func TestAWaitLeavesTheTimeForWhatFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			left, d, rest time.Duration
			want          bool
		}{
			{time.Second, 300 * time.Millisecond, 0, true},
			{time.Second, time.Second, 0, false},
			{time.Second, 300 * time.Millisecond, 699 * time.Millisecond, true},
			{time.Second, 300 * time.Millisecond, 700 * time.Millisecond, false},
		} {
			began := time.Now()
			waited := map[bool]time.Duration{true: tt.d}[tt.want]
			if got := Wait(lasting(t, tt.left), tt.d, tt.rest); got != tt.want || time.Since(began) != waited {
				t.Errorf("%+v: got %t after %v", tt, got, time.Since(began))
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		if Wait(ctx, time.Minute, 0) || time.Since(began) != time.Second {
			t.Errorf("it waited %v beyond the context's end", time.Since(began)-time.Second)
		}
	})
}

func TestTheLastCallGetsItsTimeAlsoWhenTheTimeIsUp(t *testing.T) {
	const last = 300 * time.Millisecond
	type key struct{}
	for name, tt := range map[string]struct {
		left      time.Duration
		cancelled bool
		want      time.Duration
	}{
		"enough is left":    {left: time.Minute, want: time.Minute},
		"too little is":     {left: last - 1, want: last},
		"nothing is":        {left: 0, want: last},
		"it was cancelled":  {left: time.Minute, cancelled: true, want: last},
		"exactly that much": {left: last, want: last},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			parent, cancel := context.WithCancel(context.WithValue(lasting(t, tt.left), key{}, "kept"))
			defer cancel()
			if tt.cancelled {
				cancel()
			}
			ctx, cancel := AtLeast(parent, last)
			defer cancel()
			if ctx.Err() != nil || ctx.Value(key{}) != "kept" {
				t.Errorf("%s: the context says %v and holds %v", name, ctx.Err(), ctx.Value(key{}))
			}
			<-ctx.Done()
			if took := time.Since(began); took != tt.want {
				t.Errorf("%s: it ended after %v, want %v", name, took, tt.want)
			}
		})
	}
}
