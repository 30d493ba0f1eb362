package ledger

import (
	"context"
	"errors"
	"strings"
	"time"

	"flashsale/shared/draw"
	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// callAge is how long an environment remembers that a call is not complete: then a crowd that
// comes too early does not read the call with each request.
const callAge = 500 * time.Millisecond

// takeTurn returns why it is not the user's turn in a sale with a draw that sells now, or nil;
// then the purchase may take a unit in that call alone. A refusal must follow from a snapshot
// that may refuse, so the sale may be read again. mayHold: a user who is refused may hold a
// claim.
func (p *purchasing) takeTurn(ctx context.Context, s *snapshot) (refusal *sale.Error, mayHold bool, err error) {
	for range table.MaxTries {
		if refusal, err = p.turn(ctx, &s.sale); refusal == nil || err != nil || s.mayAnswer(refusal, p.ledger.now()) {
			// Who has not been called yet can hold no claim.
			return refusal, refusal != nil && refusal.Code != sale.NotYourTurn, err
		}
		if err := p.ledger.readConsistently(ctx, table.MaxTries, p.view, p.request.SaleID); err != nil {
			return nil, false, err
		}
		if *s = p.view.load(p.ledger.now()); s.refusal != nil {
			return s.refusal, true, nil
		}
	}
	return nil, false, sale.Fail(sale.Busy, errors.New("the sale cannot be read in time"))
}

// turn compares the user's rank with the call. A user who is not called yet causes no read: the
// roll, which costs most, is looked at only for those who would be called if they were on it.
func (p *purchasing) turn(ctx context.Context, s *sale.Sale) (*sale.Error, error) {
	l := p.ledger
	call, err := l.callOf(ctx, *s)
	if err != nil {
		return nil, err
	}
	p.opens = call.From
	switch {
	case call.Open:
		return nil, nil
	case !call.Complete:
		return nil, sale.Fail(sale.Busy, errors.New("the call is not complete"))
	}
	head, err := l.drawHead(ctx, table.MaxTries, s.ID)
	if err != nil {
		return nil, err
	}
	own, err := l.EntryOf(ctx, *s, p.request.User)
	if err != nil {
		return nil, err
	}
	uncalled := &sale.Error{
		Code: sale.NotYourTurn, Detail: "you have not been called; if units are left, there will be another call",
		RetryAfter: p.untilNextCall(*s, call),
	}
	rank := draw.RankOf(head.Seed, own.Leaf)
	if rank.Compare(call.Hi) > 0 {
		return uncalled, nil
	}
	switch isOn, err := l.isOnRoll(ctx, s.ID, own.Leaf); {
	case err != nil:
		return nil, err
	case !isOn:
		return uncalled, nil
	case rank.Compare(call.Lo) <= 0:
		return sale.Refuse(sale.TurnOver, "you were called before, and that call is over"), nil
	}
	return nil, nil
}

// untilNextCall is how long to wait for the call after one of the sale.
func (p *purchasing) untilNextCall(s sale.Sale, call draw.Call) time.Duration {
	d := DrawState{Sale: s, Last: call}
	if wait := d.NextCallAt(p.request.CallGap).Sub(p.ledger.now()); wait > 0 {
		return wait
	}
	return time.Minute // the draw function looks once a minute
}

// withWait adds to a refusal after a call when the next one may be.
func (p *purchasing) withWait(s *sale.Sale, refusal *sale.Error) *sale.Error {
	if refusal.Code == sale.NotYourTurn && refusal.RetryAfter == 0 {
		refusal.RetryAfter = p.untilNextCall(*s, draw.Call{Number: s.Call, Open: true})
	}
	return refusal
}

// callOf returns the newest call of the sale. A complete one is remembered: what the turn
// depends on is final then.
func (l *Ledger) callOf(ctx context.Context, s sale.Sale) (draw.Call, error) {
	id, now := callID{s.ID, s.Call}, l.now()
	if c, ok := l.draws.calls.Get(id, now); ok {
		return c, nil
	}
	c, err := l.readCallOf(ctx, table.MaxTries, s)
	if err != nil {
		return c, err
	}
	id.saleID = strings.Clone(s.ID)
	if c.Complete || c.Open {
		l.draws.calls.Put(id, c, time.Time{}, forever)
	} else {
		l.draws.calls.Put(id, c, now, now.Add(callAge))
	}
	return c, nil
}
