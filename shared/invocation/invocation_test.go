package invocation

import (
	"context"
	"errors"
	"strings"
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

func TestTheLastCallsShareATimeBeyondTheEnd(t *testing.T) {
	const last = 300 * time.Millisecond
	type key struct{}
	for left, want := range map[time.Duration]time.Duration{
		time.Minute: time.Minute, last: last + last, last - 1: last - 1 + last, 0: last, -time.Second / 10: last - time.Second/10,
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			parent := context.WithValue(lasting(t, left), key{}, "kept")
			for range 2 {
				ctx, cancel := Beyond(parent, last)
				defer cancel()
				<-ctx.Done()
				if took := time.Since(began); took != want || ctx.Value(key{}) != "kept" {
					t.Errorf("with %v left it ended after %v with %v, want %v and its values", left, took, ctx.Value(key{}), want)
				}
				if left == time.Minute {
					break
				}
			}
		})
	}
}

func TestAPanicInAGroupIsItsWaitersWithTheStackOfWhoPanicked(t *testing.T) {
	var all Group
	finished := false
	all.Go(func() { finished = true })
	all.Go(culprit)
	err := Try(func() error { all.Wait(); return nil })
	p, ok := errors.AsType[*Panic](err)
	if !ok || err.Error() != "panic: a bug" || !strings.Contains(p.Stack, "invocation.culprit") || !finished {
		t.Errorf("got %v with %+v, want the panic after all have ended", err, p)
	}
}

func culprit() { panic("a bug") }
