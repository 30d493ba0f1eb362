package ledger

import (
	"context"
	"time"

	"flashsale/shared/sale"
)

const (
	// spareTime is how long a spare read may delay an answer. With the age of a snapshot
	// that could be re-read, 1.65 s, it is below the two seconds of P6.
	spareTime = 300 * time.Millisecond
	// sparePause is how long an environment makes no spare read after one that failed.
	sparePause = time.Second
)

// spareClaim returns the user's claim, if an eventually consistent read of half a unit
// finds it. At the end of a sale everybody who is refused causes one, so it is spent
// only where the table has room: not while the sale cannot be read, and only once; after
// a throttle, an error or no answer in time this environment makes none for a while.
func (p *purchase) spareClaim(ctx context.Context, s sale.Sale) (sale.Claim, bool) {
	now := p.now()
	if p.view.isPausing(now) || isFresh(now, time.Unix(0, p.spareFailed.Load()), sparePause) {
		return sale.Claim{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, spareTime)
	defer cancel()
	it, err := p.readItem(ctx, 1, claimKey(s.ID, sale.BucketOf(p.User, s.Buckets), p.User), false)
	if err != nil {
		p.spareFailed.Store(p.now().UnixNano())
		return sale.Claim{}, false
	}
	if it == nil {
		return sale.Claim{}, false
	}
	held, err := readClaim(s.ID, s.Buckets, it)
	return held, err == nil
}
