package ledger

import (
	"context"
	"time"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

const (
	// refusalReadTimeout is how long a refusal read, the look for a claim before a refusal,
	// may delay the answer. With the age of a snapshot that could be re-read, 1.65 s, it is
	// below the two seconds of P6.
	refusalReadTimeout = 300 * time.Millisecond
	// refusalReadPause is how long an environment makes none after one that failed.
	refusalReadPause = time.Second
)

// claimBeforeRefusal returns the user's claim, if an eventually consistent read of half a unit
// finds it. At the end of a sale everybody who is refused causes one, so it is spent
// only where the table has room: not while the sale cannot be read, and only once; after
// a throttle, an error or no answer in time this environment makes none for a while.
func (p *purchasing) claimBeforeRefusal(ctx context.Context, s sale.Sale) (sale.Claim, bool) {
	now := p.ledger.now()
	if p.view.isBackingOff(now) || isFresh(now, time.Unix(0, p.ledger.refusalReadFailed.Load()), refusalReadPause) {
		return sale.Claim{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, refusalReadTimeout)
	defer cancel()
	it, err := p.ledger.table.ReadItem(ctx, 1, table.ClaimKey(s.ID, sale.BucketOf(p.request.User, s.Buckets), p.request.User), false)
	if err != nil {
		p.ledger.refusalReadFailed.Store(p.ledger.now().UnixNano())
		return sale.Claim{}, false
	}
	if it == nil {
		return sale.Claim{}, false
	}
	held, err := table.ReadClaim(s.ID, s.Buckets, it)
	return held, err == nil
}
