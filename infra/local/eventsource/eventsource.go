// Package eventsource has what those have in common that invoke functions by themselves, event
// source mappings and schedules: the invoked function, its answer about parts of a batch, and the
// pauses of retries.
package eventsource

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// Invoker runs a function to its end. An error means that the function may not have
// run; functionError is Lambda's X-Amz-Function-Error header, empty when the function
// returned normally.
type Invoker interface {
	Invoke(ctx context.Context, function string, payload []byte) (response []byte, functionError string, err error)
}

// grace bounds how long invocations may continue after their poller or scheduler was stopped.
const grace = 10 * time.Second

// Running is the invocations of a poller or a scheduler. They run under Context, which outlives
// the one that stops their poller.
type Running struct {
	sync.WaitGroup
	Context context.Context
	abandon context.CancelFunc
}

// NewRunning returns no invocations yet.
func NewRunning(ctx context.Context) *Running {
	r := &Running{}
	r.Context, r.abandon = context.WithCancel(context.WithoutCancel(ctx))
	return r
}

// Finish waits for the invocations, and abandons those that last longer than the grace period.
func (r *Running) Finish() {
	defer r.abandon()
	limit := time.AfterFunc(grace, r.abandon)
	defer limit.Stop()
	r.Wait()
}

// Sleep waits, or returns early when ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

const firstPause = 100 * time.Millisecond

// LastPause is the longest pause of a Backoff.
const LastPause = 5 * time.Second

// Backoff returns growing pauses, half of each random, so that the pollers of one
// engine do not all retry at the same moment.
type Backoff struct{ limit time.Duration }

// Reset makes the next pause a short one.
func (b *Backoff) Reset() { b.limit = 0 }

// Next returns the next pause.
func (b *Backoff) Next() time.Duration {
	limit := max(b.limit, firstPause)
	b.limit = min(2*limit, LastPause)
	return limit/2 + rand.N(limit/2)
}
