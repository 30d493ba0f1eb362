package simulate

import (
	"encoding/json"
	"time"

	"flashsale/shared/ledger"
)

// resendBound is how long after its loss a message is sent again at the latest,
// whatever else is in the queue, if nothing disturbs reconciliation (P8).
const resendBound = ledger.ResendBound

// sending notes what becomes of a message.
func (w *watch) sending(body string, taken bool) {
	if taken {
		w.queued(body)
	} else {
		w.unsent(body)
	}
}

// unsent notes that a message was not taken by the queue.
func (w *watch) unsent(body string) {
	if c := w.claimOf(body); c != nil {
		c.lostAt = time.Now()
	}
}

// queued notes that a message was taken by the queue. Unless the invocation that made
// the claim sent it, it was lost before.
func (w *watch) queued(body string) {
	c := w.claimOf(body)
	if c == nil || c.queued {
		return
	}
	c.queued = true
	if c.invocation == w.invocation {
		return
	}
	w.resent++
	if w.repairing.IsZero() {
		return
	}
	lost := c.at
	for _, at := range []time.Time{c.lostAt, w.repairing} {
		if at.After(lost) {
			lost = at
		}
	}
	waited := time.Since(lost)
	w.longest = max(w.longest, waited)
	// Two clocks that differ make a claim look younger than it is.
	if waited > resendBound+2*w.skew {
		w.violate("P8: the message of %s was lost %v after the beginning and sent again %v later", c.id, lost.Sub(w.began), waited)
	}
}

// claimOf is the claim that a message names, nil for none.
func (w *watch) claimOf(body string) *held {
	var m struct {
		ClaimID string `json:"claimId"`
	}
	if json.Unmarshal([]byte(body), &m) != nil {
		return nil
	}
	return w.claims[m.ClaimID]
}
