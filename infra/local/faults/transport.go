package faults

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"
)

// ErrBroken: the connection broke before the answer: the request may have been applied,
// or may still be. It wraps io.ErrUnexpectedEOF.
var ErrBroken = fmt.Errorf("connection broken before the answer: %w", io.ErrUnexpectedEOF)

// lateLimit bounds a request that continues without its caller.
const lateLimit = 5 * time.Second

// Transport forwards requests to DynamoDB and SQS and injects faults into some of them.
// It is an http.RoundTripper for the SDK's HTTP client; any other request passes
// unchanged. It is safe for concurrent use; the exported fields must not be changed
// after the first request.
type Transport struct {
	// Base sends requests; nil is http.DefaultTransport.
	Base   http.RoundTripper
	Config Config
	// Keys are the names of the tables' key attributes, which identify items; nil is pk
	// and sk.
	Keys []string

	inFlight inFlight

	mu      sync.Mutex
	calls   uint64
	counts  map[string]int
	waiting int
	closing chan struct{} // made with the first late request
	closed  bool
	late    sync.WaitGroup
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := takeBody(r)
	if err != nil {
		return nil, err
	}
	keys := t.Keys
	if keys == nil {
		keys = []string{"pk", "sk"}
	}
	c := readCall(r.Header.Get("X-Amz-Target"), body, keys)
	if c.class == untouched {
		return t.base().RoundTrip(cloneWith(r.Context(), r, body))
	}
	n := t.number()
	p := t.Config.plan(n, c)
	if err := pause(r.Context(), p.wait); err != nil {
		return nil, err
	}
	if p.kind == kindLate && !t.applyLater(p.late, func(ctx context.Context) { t.apply(cloneWith(ctx, r, body), c, n) }) {
		p.kind = kindError
	}
	t.count(p.kind)
	switch p.kind {
	case kindConflict:
		return t.conflict(cloneWith(r.Context(), r, body), c, p.some, n)
	case kindThrottle:
		if c.class == statements && p.variant {
			return t.executeExcept(cloneWith(r.Context(), r, body), p.some, throttlingReason, n)
		}
		return throttling(c, p).answer(r, n)
	case kindError, kindSendFailed:
		return internalError(c).answer(r, n)
	case kindLost, kindSendLost:
		// The caller may have given up; the service would not notice.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), lateLimit)
		defer cancel()
		t.apply(cloneWith(ctx, r, body), c, n)
		return nil, ErrBroken
	case kindLate:
		return nil, ErrBroken
	}
	return t.send(cloneWith(r.Context(), r, body), c, n)
}

// send passes a request on, unless a transaction in flight has one of its items.
func (t *Transport) send(r *http.Request, c call, n uint64) (*http.Response, error) {
	if t.Config.InFlight > 0 && c.conflicts() {
		if busy := t.inFlight.lock(c, time.Now(), t.Config.InFlight); len(busy) > 0 {
			t.count(kindInFlight)
			return t.conflict(r, c, busy, n)
		}
	}
	return t.base().RoundTrip(r)
}

// conflict refuses a call with items in another transaction, or only those statements
// of a batch.
func (t *Transport) conflict(r *http.Request, c call, some []int, n uint64) (*http.Response, error) {
	if c.class == statements {
		return t.executeExcept(r, some, conflictReason, n)
	}
	return conflicting(c, some).answer(r, n)
}

// apply sends a request whose answer is lost, and waits for its end.
func (t *Transport) apply(r *http.Request, c call, n uint64) {
	answer, err := t.send(r, c, n)
	if err != nil {
		return // applied or not: the caller does not know in any case
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
}

func (t *Transport) base() http.RoundTripper {
	if t.Base != nil {
		return t.Base
	}
	return http.DefaultTransport
}

// cloneWith returns the request with the body that was read from it.
func cloneWith(ctx context.Context, r *http.Request, body []byte) *http.Request {
	again := r.Clone(ctx)
	setBody(again, body)
	return again
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// number counts a call and returns its number, from 1.
func (t *Transport) number() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls++
	return t.calls
}

func (t *Transport) count(kind string) {
	if kind == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[kind]++
}

// Counts returns how many calls had which fault so far: "conflict" (by chance),
// "inflight" (by another transaction), "throttle", "error", "lost", "late",
// "send-failed" and "send-lost"; "calls" is the total. A call may have two: a lost or
// late one may also find its item in flight.
func (t *Transport) Counts() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := maps.Clone(t.counts)
	if counts == nil {
		counts = map[string]int{}
	}
	counts["calls"] = int(t.calls)
	return counts
}
