package ledger

import (
	"context"
	"time"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// remember caches a claim. While its sale may sell it is never deleted, and its shard never changes, so the
// entry stays correct; only its state may be older than the table's. A claim whose state
// decides the answer to a repeat is read again: see answerFromMemory.
func (l *Ledger) remember(c sale.Claim, asksForPayment bool, now time.Time) {
	l.recent.Put(buyer{c.SaleID, c.User}, remembered{Claim: c, asksForPayment: asksForPayment}, now, now.Add(recentFor))
}

// rememberOther caches that the user has ordered in another sale of the sale's group. The
// guard that says so is never deleted, so the entry stays correct.
func (l *Ledger) rememberOther(saleID, user, other string, now time.Time) {
	l.recent.Put(buyer{saleID, user}, remembered{otherSale: other}, now, now.Add(recentFor))
}

// answerFromMemory answers a request of a user whose claim this environment remembers, in the
// sale or in another one of its group. If the claim may have been released since, it is read
// again.
func (p *purchasing) answerFromMemory(ctx context.Context, one remembered) (PurchaseResult, error) {
	if one.otherSale != "" {
		return PurchaseResult{}, refuseOther(one.otherSale)
	}
	held := one.Claim
	if one.asksForPayment && held.MayBeReleased() {
		var err error
		if held, err = p.ledger.claimIn(ctx, held.SaleID, held.Buckets, held.User); err != nil {
			return PurchaseResult{}, err
		}
		p.ledger.remember(held, one.asksForPayment, p.ledger.now())
	}
	return p.request.answerRepeat(held, 0)
}

// answerRepeat answers a request whose user already holds a claim. It is a repeat of the request that made the claim if
// it asks for as many units with the same key: a buyer who has asked for fewer meanwhile must hear how many they got.
func (r *Request) answerRepeat(held sale.Claim, tries int) (PurchaseResult, error) {
	result := PurchaseResult{Claim: held, Tries: tries}
	if r.Key != "" && r.Key == held.RequestKey && r.units() == held.UnitCount() && !held.Ended() {
		return result, nil
	}
	return result, &sale.Error{
		Code: sale.AlreadyOrdered, Detail: "the user has already ordered in this sale", Claim: &held,
	}
}

// answerWithClaim ends a call that found a claim of its user: its own, from a try whose
// answer was lost, or another request's.
func (p *purchasing) answerWithClaim(s *sale.Sale, held sale.Claim, now time.Time) (PurchaseResult, error) {
	p.ledger.remember(held, s.AsksForPayment(), now)
	if held.ID == p.claimID {
		return PurchaseResult{Claim: held, New: true, Tries: p.tries}, nil
	}
	return p.request.answerRepeat(held, p.tries)
}

// findRepeat answers a repeat from the user's claim, if there is one. Looking costs one
// consistent read and its retries, so only requests with a key, which may be repeats, are
// looked up.
func (p *purchasing) findRepeat(ctx context.Context, s sale.Sale) (answer PurchaseResult, found bool, err error) {
	if p.request.Key == "" || s.Buckets == 0 {
		return PurchaseResult{}, false, nil
	}
	held, err := p.ledger.claim(ctx, s, p.request.User)
	switch {
	case sale.CodeOf(err) == sale.OrderNotFound:
		return PurchaseResult{}, false, nil
	case err != nil:
		return PurchaseResult{Tries: p.tries}, false, err
	}
	answer, err = p.answerWithClaim(&s, held, p.ledger.now())
	return answer, true, err
}

// answerWithGuard says what follows a transaction that was cancelled with err because the
// user has a guard. One of another sale is final even if an earlier try had no answer: that
// try can commit no more than this one, because no guard is ever deleted (P34). One of this
// sale was committed with a claim, which is read: it may be this call's own.
func (p *purchasing) answerWithGuard(
	ctx context.Context, s *snapshot, g table.GroupGuard, err error,
) (step, PurchaseResult, error) {
	if g.SaleID != p.request.SaleID {
		p.ledger.rememberOther(p.request.SaleID, p.request.User, g.SaleID, p.ledger.now())
		return finish, PurchaseResult{Tries: p.tries}, refuseOther(g.SaleID)
	}
	held, readErr := p.ledger.claim(ctx, s.sale, p.request.User)
	switch {
	case sale.CodeOf(readErr) == sale.OrderNotFound:
		return waitAndStay, PurchaseResult{}, err // the transaction's other writes are not visible yet
	case readErr != nil:
		return finishWith(p.fail(sale.CodeOf(readErr), readErr))
	}
	return finishWith(p.answerWithClaim(&s.sale, held, p.ledger.now()))
}

// refuseOther refuses a user who has ordered in another sale of the group.
func refuseOther(saleID string) *sale.Error {
	return &sale.Error{
		Code: sale.AlreadyOrdered, Detail: "the user has already ordered in another sale of its group", OtherSale: saleID,
	}
}
