package faults

import (
	"slices"
	"sync"
	"time"
)

// inFlight knows which items are in a transaction at the moment. DynamoDB lets
// an item be in one at a time and refuses whatever meets it there.
type inFlight struct {
	mu    sync.Mutex
	until map[string]time.Time
	// order holds the same items, the one that is free first in front: all are
	// occupied for the same time. A name stands in it once for each time it was
	// occupied, never twice at once.
	order []string
}

// enter returns which of the call's items are occupied at now; if none is, a
// transaction occupies its own for hold.
func (f *inFlight) enter(c call, now time.Time, hold time.Duration) (busy []int) {
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
		// A transaction with one item twice is refused by the engine.
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
