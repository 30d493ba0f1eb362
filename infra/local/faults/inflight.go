package faults

import (
	"slices"
	"sync"
	"time"
)

// inFlight records which items are in a transaction. In DynamoDB an item can be in only
// one at a time; conflicting calls are refused.
type inFlight struct {
	mu    sync.Mutex
	until map[string]time.Time
	// order contains the same items, the first to become free in front: all are locked
	// for the same time. Each item is in it at most once.
	order []string
}

// lock returns which of the call's items are locked at now; if none is, a transaction
// locks its items for hold.
func (f *inFlight) lock(c call, now time.Time, hold time.Duration) (busy []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.free(now)
	for i, item := range c.items {
		if _, occupied := f.until[item]; occupied && item != "" {
			busy = append(busy, i)
		}
	}
	if len(busy) > 0 || c.class != transaction {
		return busy
	}
	if f.until == nil {
		f.until = map[string]time.Time{}
	}
	for i, item := range c.items {
		// The engine refuses a transaction with a duplicate item.
		if item != "" && !slices.Contains(c.items[:i], item) {
			f.until[item] = now.Add(hold)
			f.order = append(f.order, item)
		}
	}
	return nil
}

func (f *inFlight) free(now time.Time) {
	n := 0
	for n < len(f.order) && !f.until[f.order[n]].After(now) {
		delete(f.until, f.order[n])
		n++
	}
	f.order = f.order[n:]
}
