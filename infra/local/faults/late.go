package faults

import (
	"context"
	"time"
)

// maxLate bounds how many requests may be pending without a caller.
const maxLate = 256

// applyLater runs apply after a delay, or at Close if that comes first. It reports
// false, and never runs it, if too many are waiting or the transport is closed.
func (t *Transport) applyLater(delay time.Duration, apply func(context.Context)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.waiting >= maxLate {
		return false
	}
	if t.closing == nil {
		t.closing = make(chan struct{})
	}
	closing := t.closing
	t.waiting++
	t.late.Go(func() {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-closing:
		case <-timer.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), lateLimit)
		defer cancel()
		apply(ctx)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.waiting--
	})
	return true
}

// Close sends the pending late requests, and returns when none is left: after it, the
// table does not change by itself. Later requests pass as before, but none is late any
// more. It always returns nil.
func (t *Transport) Close() error {
	t.mu.Lock()
	if !t.closed {
		t.closed = true
		if t.closing != nil {
			close(t.closing)
		}
	}
	t.mu.Unlock()
	t.late.Wait()
	return nil
}
