package ledger

import (
	"context"
	"slices"
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

// refuse ends a call with a refusal, unless the user has a claim: a winner whose answer
// was lost must not get "sold out", nor one whose other click took the last unit while
// this one found its shard empty. The refusal follows from that snapshot. If looking for the
// claim took until it is too old to refuse, the answer is "busy": a newer snapshot would have
// to be followed by another look for the claim, which the user's other click may have made
// meanwhile.
func (p *purchasing) refuse(ctx context.Context, s snapshot, refusal *sale.Error) (PurchaseResult, error) {
	if p.unsure {
		return p.fail(sale.Busy, refusal)
	}
	if answer, found, err := p.findRepeat(ctx, s.sale); found || err != nil {
		return answer, err
	}
	if !isFresh(p.ledger.now(), s.readAt, refusalAge) {
		return p.fail(sale.Busy, refusal)
	}
	if p.request.Key == "" && slices.Contains(finalRefusals, refusal.Code) {
		if held, found := p.claimBeforeRefusal(ctx, s.sale); found {
			return p.answerWithClaim(&s.sale, held, p.ledger.now())
		}
	}
	return PurchaseResult{Tries: p.tries}, p.withWait(&s.sale, refusal)
}

// finalRefusals are those of which a buyer who has an order must not hear first.
var finalRefusals = []sale.Code{
	sale.SoldOut, sale.NotEnough, sale.Closed, sale.Recalled, sale.NotYourTurn, sale.TurnOver,
}

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
	it, err := p.ledger.table.ReadItem(ctx, 1,
		table.ClaimKey(s.ID, sale.BucketOf(p.request.User, s.Buckets), p.request.User), false)
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
