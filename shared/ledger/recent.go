package ledger

import (
	"sync"
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

// recentClaims is a bounded memory of claims. A claim is never withdrawn, so
// what it remembers stays true; only the order id may be missing.
type recentClaims struct {
	mu    sync.Mutex
	m     map[buyer]recentClaim
	order []buyer // ring of insertions, oldest at next
	next  int
}

type recentClaim struct {
	claim sale.Claim
	since time.Time
}

func newRecentClaims() *recentClaims { return &recentClaims{m: map[buyer]recentClaim{}} }

func (r *recentClaims) get(saleID, user string, now time.Time) (sale.Claim, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.m[buyer{saleID, user}]
	if !ok || !isFresh(now, e.since, recentFor) {
		return sale.Claim{}, false
	}
	return e.claim, true
}

func (r *recentClaims) put(c sale.Claim, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := buyer{c.SaleID, c.User}
	if _, ok := r.m[b]; !ok {
		if len(r.order) < maxRecent {
			r.order = append(r.order, b)
		} else {
			delete(r.m, r.order[r.next])
			r.order[r.next] = b
			r.next = (r.next + 1) % maxRecent
		}
	}
	r.m[b] = recentClaim{c, now}
}
