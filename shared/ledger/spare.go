package ledger

import (
	"context"
	"time"

	"flashsale/shared/sale"
)

const (
	// spareTime is how long a spare read may delay an answer.
	spareTime = 100 * time.Millisecond
	// sparePause is how long an environment makes no spare read after one that failed.
	sparePause = time.Second
)

// spareClaim returns the user's claim, if an eventually consistent read of half a unit
// finds it. At the end of a sale everybody who is refused causes one, so it is spent
// only where the table has room: it is tried once, and after a throttle, an error or no
// answer in time this environment makes none for a while.
func (l *Ledger) spareClaim(ctx context.Context, s sale.Sale, user string) (sale.Claim, bool) {
	if isFresh(l.now(), time.Unix(0, l.spareFailed.Load()), sparePause) {
		return sale.Claim{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, spareTime)
	defer cancel()
	it, err := l.readItem(ctx, 1, claimKey(s.ID, sale.BucketOf(user, s.Buckets), user), false)
	if err != nil {
		l.spareFailed.Store(l.now().UnixNano())
		return sale.Claim{}, false
	}
	if it == nil {
		return sale.Claim{}, false
	}
	held, err := readClaim(s.ID, s.Buckets, it)
	return held, err == nil
}
