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
	// clicking on several devices, and for the 20 clicks at once of the greediest buyer
	// that the load generator knows, even if one environment gets them all.
	callerBurst = 20
	// callerInterval is how long it takes to earn one more: two a second, four times
	// what a client sends that waits for Retry-After.
	callerInterval = 500 * time.Millisecond
	// maxCallers bounds the memory, to some 3 MB with the longest user ids. The
	// user who came first is forgotten first and then has a full burst again, which
	// costs as many requests of other users as there are places.
	maxCallers = 10_000
)

// errTooMany is one error for all, so that a flood of refusals allocates none. It says
// nothing about the order: whoever repeats a purchase whose answer was lost is asked to
// come again, never told no (P5, P9).
var errTooMany = sale.Refuse(sale.TooManyRequests, "this user sends too many requests")

// callers limits what one user may send to this execution environment: a token
// bucket for each user, in memory. With n environments an account gets up to n times
// the rate; it protects the table and the users' service from a single account, not
// from many.
type callers struct {
	mu sync.Mutex
	m  recent.Map[string, caller]
}

// caller is a bucket, by the time in which it fills up again.
type caller struct {
	since time.Time     // when the last request was admitted
	debt  time.Duration // until the bucket is full, counted from since
}

func newCallers() *callers { return &callers{m: recent.NewMap[string, caller](maxCallers)} }

// admit takes a token from the user's bucket; false means that it is empty. A refused
// request takes nothing, so that a client which waits is served however many it sent
// before.
func (c *callers) admit(user string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.m.Get(user)
	debt := time.Duration(0)
	// After a step back of the wall clock nobody knows how long ago the last request
	// was. Whoever is in doubt gets a full bucket.
	if passed := now.Sub(known.since); ok && passed >= 0 {
		debt = max(0, known.debt-passed)
	}
	if debt += callerInterval; debt > callerBurst*callerInterval {
		return false
	}
	if !ok {
		user = strings.Clone(user) // not all of what the id was read from
	}
	c.m.Put(user, caller{now, debt})
	return true
}
