// Package ratelimit limits how many requests one user may send to an execution environment.
package ratelimit

import (
	"strings"
	"sync"
	"time"

	"flashsale/shared/cache"
	"flashsale/shared/sale"
)

const (
	// Burst is how many requests one user may send at once. A page sends one click at a
	// time and one per Retry-After (1 to 3 s); 20 leaves room for impatient clicking on
	// several devices, and for the load generator's most impatient buyer with 20 clicks at
	// once, even if one environment gets them all.
	Burst = 20
	// Interval is the time after which one more is allowed: two a second, four times the
	// rate of a client that waits for Retry-After.
	Interval = 500 * time.Millisecond
	// maxUsers bounds the memory, to some 6 MB with the longest user ids. The oldest
	// entry is evicted first, and its user then has a full burst again; to force that
	// takes maxUsers requests of other users.
	maxUsers = 10_000
)

// errTooMany is shared, so that a flood of refusals allocates nothing. It says nothing
// about the order: a user who repeats a request whose answer was lost is asked to
// retry, never refused (P5, P9).
var errTooMany = sale.Refuse(sale.TooManyRequests, "this user sends too many requests")

// Limit is a token bucket for each user, in memory; it is safe for concurrent use. With n
// environments an account gets up to n times the rate: it protects the table and the
// eligibility service from a single account, not from many.
type Limit struct {
	mu sync.Mutex
	m  cache.Map[string, bucket]
}

// bucket is stored as the time until it is full again.
type bucket struct {
	since time.Time     // when the last request was allowed
	debt  time.Duration // until the bucket is full, counted from since
}

// New returns a limit under which every user has a full bucket.
func New() *Limit { return &Limit{m: cache.NewMap[string, bucket](maxUsers)} }

// Allow takes a token from the user's bucket, or refuses with TooManyRequests if it is empty.
// A refused request takes nothing, so a client that then waits is served however many requests
// it sent before. now must have no monotonic reading: see package clock.
func (l *Limit) Allow(user string, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, ok := l.m.Get(user)
	debt := time.Duration(0)
	// After the wall clock has stepped back, the time since the last request is
	// unknown. In doubt the bucket is full.
	if passed := now.Sub(known.since); ok && passed >= 0 {
		debt = max(0, known.debt-passed)
	}
	if debt += Interval; debt > Burst*Interval {
		return errTooMany
	}
	if !ok {
		user = strings.Clone(user) // do not keep the event that the id is part of
	}
	l.m.Put(user, bucket{now, debt})
	return nil
}
