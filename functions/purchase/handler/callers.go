package handler

import (
	"strings"
	"sync"
	"time"

	"flashsale/shared/recent"
	"flashsale/shared/sale"
)

const (
	// callerBurst is how many purchases one user may send at once. A page sends one
	// click at a time and one per Retry-After (1 to 3 s); 20 leaves room for impatient
	// clicking on several devices, and for the load generator's most impatient buyer
	// with 20 clicks at once, even if one environment gets them all.
	callerBurst = 20
	// callerInterval is the time after which one more is allowed: two a second, four
	// times the rate of a client that waits for Retry-After.
	callerInterval = 500 * time.Millisecond
	// maxCallers bounds the memory, to some 3 MB with the longest user ids. The oldest
	// entry is evicted first, and its user then has a full burst again; to force that
	// takes maxCallers requests of other users.
	maxCallers = 10_000
)

// errTooMany is shared, so that a flood of refusals allocates nothing. It says nothing
// about the order: a user who repeats a purchase whose answer was lost is asked to
// retry, never refused (P5, P9).
var errTooMany = sale.Refuse(sale.TooManyRequests, "this user sends too many requests")

// callers limits what one user may send to this execution environment: a token bucket
// for each user, in memory. With n environments an account gets up to n times the rate;
// it protects the table and the eligibility service from a single account, not from
// many.
type callers struct {
	mu sync.Mutex
	m  recent.Map[string, caller]
}

// caller is a bucket, stored as the time until it is full again.
type caller struct {
	since time.Time     // when the last request was admitted
	debt  time.Duration // until the bucket is full, counted from since
}

func newCallers() *callers { return &callers{m: recent.NewMap[string, caller](maxCallers)} }

// admit takes a token from the user's bucket; false means that it is empty. A refused
// request takes nothing, so a client that then waits is served however many requests it
// sent before.
func (c *callers) admit(user string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.m.Get(user)
	debt := time.Duration(0)
	// After the wall clock has stepped back, the time since the last request is
	// unknown. In doubt the bucket is full.
	if passed := now.Sub(known.since); ok && passed >= 0 {
		debt = max(0, known.debt-passed)
	}
	if debt += callerInterval; debt > callerBurst*callerInterval {
		return false
	}
	if !ok {
		user = strings.Clone(user) // do not keep the event that the id is part of
	}
	c.m.Put(user, caller{now, debt})
	return true
}
