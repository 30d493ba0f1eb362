package explore

import (
	"encoding/json"
	"time"

	"flashsale/shared/ledger"
)

// resendBound is the longest time until a lost message is resent, regardless of the
// rest of the queue, if nothing disturbs reconciliation (P8). repairBound is that of a claim
// which was accepted while something did.
const (
	resendBound = ledger.ResendBound
	repairBound = ledger.RepairBound
)

// messageSent records whether the queue accepted a message.
func (w *watch) messageSent(body string, taken bool) {
	if taken {
		w.queued(body)
	} else {
		w.unsent(body)
	}
}

// unsent records that the queue did not accept a message.
func (w *watch) unsent(body string) {
	if c := w.claimOf(body); c != nil {
		c.lostAt = time.Now()
	}
}

// queued records that the queue accepted a message. If another invocation than the one
// that made the claim sent it, it was lost before.
func (w *watch) queued(body string) {
	c := w.claimOf(body)
	if c == nil || c.queued {
		return
	}
	c.queued = true
	if c.invocation == w.invocation {
		return
	}
	w.counts["resent"]++
	if w.undisturbedSince.IsZero() {
		return
	}
	lost, bound := c.at, resendBound
	if c.lostAt.After(lost) {
		lost = c.lostAt
	}
	if lost.Before(w.undisturbedSince) {
		lost, bound = w.undisturbedSince, repairBound
	}
	waited := time.Since(lost)
	if bound == resendBound {
		w.longest = max(w.longest, waited)
	}
	// With two different clocks a claim may look younger than it is.
	if waited > bound+2*w.skew {
		w.violate("P8: the message of %s was lost %v after the beginning and sent again %v later", c.id, lost.Sub(w.began), waited)
	}
}

// claimOf returns the claim that a message names, or nil.
func (w *watch) claimOf(body string) *seenClaim {
	var m struct {
		ClaimID string `json:"claimId"`
	}
	if json.Unmarshal([]byte(body), &m) != nil {
		return nil
	}
	return w.claims[m.ClaimID]
}
