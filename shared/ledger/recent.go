package ledger

import (
	"time"

	"flashsale/shared/sale"
)

const (
	// maxRecent and recentFor bound an environment's cache of its own claims: enough
	// that a winner who keeps clicking does not contend for a shard.
	maxRecent = 2000
	recentFor = time.Minute
)

type buyer struct{ saleID, user string }

// remembered is a claim in the cache.
type remembered struct {
	sale.Claim
	// asksForPayment: its sale asks for payment, so the claim may be released.
	asksForPayment bool
}

// remember caches a claim. A claim is never deleted and its shard never changes, so the
// entry stays correct; only its state may be older than the table's. A claim whose state
// decides the answer to a repeat is read again: see answerFromMemory.
func (l *Ledger) remember(c sale.Claim, asksForPayment bool, now time.Time) {
	l.recent.Put(buyer{c.SaleID, c.User}, remembered{c, asksForPayment}, now, now.Add(recentFor))
}
