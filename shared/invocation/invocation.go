// Package invocation measures time within one invocation: how much is left of it, and
// how long a call took; and it makes errors of panics. No environment is frozen during an
// invocation, so the monotonic clock is right within one, but only there; ages across
// invocations are measured by package clock.
package invocation

import (
	"context"
	"time"
)

// Margin is the time that a handler reserves to answer before the context's deadline,
// the instant at which Lambda kills it (P16).
const Margin = 500 * time.Millisecond

// Bound returns a context that ends Margin before the deadline of ctx, if it has one.
// Lambda's deadline is an instant of the environment's wall clock, without a monotonic
// reading; the context's timer is set for the time left at this call and ignores later
// steps of the wall clock.
func Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-Margin))
}

// Share returns a context that ends after 1/n of the time that ctx has left; without a
// deadline it is unbounded.
func Share(ctx context.Context, n int) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/time.Duration(n))
}

// Outlasts reports whether ctx ends later than in d. It is true for a context without a
// deadline that is not cancelled.
func Outlasts(ctx context.Context, d time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() == nil && (!ok || time.Until(deadline) > d)
}

// Wait waits for d. It reports false if ctx ends meanwhile and, without waiting, if ctx would
// not have more than rest left afterwards.
func Wait(ctx context.Context, d, rest time.Duration) bool {
	if !Outlasts(ctx, d+rest) {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Beyond returns ctx, or a context that ends d after its deadline if less than d is left of it. It is for the calls
// that must still be made when the time is up, all of them together; d must lie within Margin.
func Beyond(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if Outlasts(ctx, d) {
		return ctx, func() {}
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now()
	}
	return context.WithDeadline(context.WithoutCancel(ctx), deadline.Add(d))
}

// Stopwatch measures how long something takes.
type Stopwatch struct{ began time.Time }

// Start returns a running stopwatch.
func Start() Stopwatch { return Stopwatch{time.Now()} }

// Elapsed returns the time since Start.
func (s Stopwatch) Elapsed() time.Duration { return time.Since(s.began) }
