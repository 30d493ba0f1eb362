package ledger

import (
	"context"
	"time"

	"flashsale/shared/sale"
)

// Outlook is what is known of a request before anything is tried.
type Outlook struct {
	// Purchase is the answer that a claim of the user's already gives. Without one
	// its Claim.ID is empty, and only a transaction can tell more.
	Purchase
	// ClosesAt is the end of the sale as it is planned.
	ClosesAt time.Time
}

// Outlook answers a request as Purchase would, as far as that needs no transaction:
// from what this environment remembers, from the snapshot of the sale and, if the
// request says that it may be a repeat, from the user's claim. It writes nothing. It
// is for callers who have something slow to do for new buyers only, before Purchase,
// which relies on nothing that was found here.
//
// It fails with what Purchase fails with.
func (l *Ledger) Outlook(ctx context.Context, r Request) (Outlook, error) {
	if claim, ok := l.recent.get(r.SaleID, r.User, l.now()); ok {
		p, err := r.again(claim, 0)
		return Outlook{Purchase: p}, err
	}
	p := purchase{Ledger: l, Request: r, view: l.views.of(r.SaleID)}
	s, refusal, err := l.look(ctx, p.view, r.SaleID)
	if err != nil {
		return Outlook{}, err
	}
	o := Outlook{ClosesAt: s.sale.ClosesAt}
	if refusal != nil {
		o.Purchase, err = p.refuse(ctx, s.sale, refusal)
		return o, err
	}
	if r.Key == "" {
		return o, nil
	}
	held, err := l.claim(ctx, s.sale, r.User)
	switch {
	case sale.CodeOf(err) == sale.OrderNotFound:
		return o, nil
	case err != nil:
		return o, err
	}
	o.Purchase, err = p.held(held, l.now())
	return o, err
}
