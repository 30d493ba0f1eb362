package ledger

import (
	"time"

	"flashsale/shared/sale"
)

const (
	// maxRecent and recentFor bound what an environment remembers of its own
	// claims: enough that a winner who keeps clicking blocks no shard.
	maxRecent = 2000
	recentFor = time.Minute
)

type buyer struct{ saleID, user string }

// remember keeps a claim. A claim is never withdrawn, so what is remembered stays
// true; only the order id may be missing.
func (l *Ledger) remember(c sale.Claim, now time.Time) {
	l.recent.Put(buyer{c.SaleID, c.User}, c, now, now.Add(recentFor))
}
