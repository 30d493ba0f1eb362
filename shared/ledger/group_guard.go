package ledger

import (
	"context"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

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
