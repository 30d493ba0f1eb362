package ledger

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// applyKnown applies the account of a payment whose guard was written, if there is one. It must be read after that,
// each time that the payment is reported: whoever wrote the guard may have died before.
func (l *Ledger) applyKnown(ctx context.Context, payment string, done *Settlement) error {
	it, err := l.table.Get(ctx, table.AccountKey(payment))
	if err != nil || it == nil {
		return err
	}
	a, err := table.ReadAccount(payment, it)
	if err != nil {
		return sale.AsInternal(err)
	}
	now, err := l.applyAccount(ctx, a, done.guard)
	if now.isNew {
		a.SaleID = done.guard.SaleID
		done.Before = &a
	}
	if done.PaidBack = now.paidBack; err == nil && now.refund != nil && done.Refund != nil {
		done.Refund = now.refund
	}
	return err
}

// RestoreAccount applies the account of a payment as it was restored, like the next report of it. If a claim or refund
// has a later version, which the given one is, the account gets one after that: they say the same, and what the
// account has lost its provider must report again. It does nothing while the payment is unknown or what it has paid is
// not there. Nothing else may write meanwhile. It fails with sale.Busy or sale.Internal.
func (l *Ledger) RestoreAccount(ctx context.Context, payment string, version int64) error {
	stored, g, err := l.readAccount(ctx, payment)
	if err != nil || g == nil {
		return err
	}
	a, err := table.ReadAccount(payment, stored)
	if err != nil {
		return sale.AsInternal(err)
	}
	if a.V < version {
		a.V = version + 1
		raise := table.Update{Key: table.AccountKey(payment), Expr: "SET #v = :v", Values: table.Item{":v": table.N(a.V)}}
		if err := l.table.Update(ctx, raise); err != nil {
			return err
		}
	}
	_, err = l.applyAccount(ctx, a, *g)
	if errors.Is(err, errRefundHidden) || errors.Is(err, errClaimHidden) {
		return nil
	}
	return err
}

// errClaimHidden: the claim's user is being erased.
var errClaimHidden = sale.Fail(sale.Busy, errors.New("the claim is not where it was"))

// applied is what a call has applied of an account: isNew if it was the first to write that, and paidBack if since then
// the whole payment of an order that stands is back. refund is the payment's refund due, nil if there is none.
type applied struct {
	refund          *sale.Refund
	isNew, paidBack bool
}

// applyAccount writes what follows from the account of a known payment onto its refund due, else onto the claim that it
// has paid, and then onto a refund due that came meanwhile; each unless it knows as much already. It notes in the
// account what its events need: the sale and the order of the payment.
func (l *Ledger) applyAccount(ctx context.Context, a sale.Account, g table.Guard) (done applied, err error) {
	if err := l.setKnown(ctx, a, g); err != nil {
		return done, err
	}
	done, err = l.applyToRefund(ctx, a, g, refunded{})
	switch {
	case err != nil || done.refund != nil:
		return done, err
	case g.Fate == table.FateRefund:
		return done, errRefundHidden
	}
	isCancelled, done, err := l.applyToClaim(ctx, a, g)
	if err != nil || !isCancelled {
		return done, err
	}
	if done, err = l.applyToRefund(ctx, a, g, refunded{}); err == nil && done.refund == nil {
		err = errRefundHidden
	}
	return done, err
}

// setKnown notes in the account of a known payment its sale and order, unless it has them.
func (l *Ledger) setKnown(ctx context.Context, a sale.Account, g table.Guard) error {
	if a.IsKnown {
		return nil
	}
	a.SaleID, a.OrderID = g.SaleID, g.OrderID
	return l.table.Update(ctx, table.UpdateKnown(a))
}

// applyToRefund writes what follows from the account onto the payment's refund due, which said that when it was read;
// nothing, if it was not read.
func (l *Ledger) applyToRefund(ctx context.Context, a sale.Account, g table.Guard, was refunded) (applied, error) {
	key := table.RefundKey(g.SaleID, a.Payment)
	for left := l.table.UpTo(table.MaxTries); ; {
		after := refunded{was.Apply(a, g.Amount, g.Currency, l.now()), was.After(a)}
		w, err := l.writeReturned(ctx, key, g.SaleID, was, after, nil)
		if err != nil || w.it == nil {
			return applied{}, err
		}
		refund, err := table.ReadRefund(w.it)
		if err != nil {
			return applied{}, sale.AsInternal(err)
		}
		if was = refundedOf(refund); w.isDone || was.MoneyVersion >= a.V {
			return applied{refund: &refund, isNew: w.isDone}, nil
		}
		if !left.Again(ctx) {
			return applied{}, errRefundChanges
		}
	}
}

// refunded is what writes onto a refund due compare and change: what its account says, and what was sent.
type refunded struct {
	sale.Returned
	sale.Sent
}

func refundedOf(r sale.Refund) refunded { return refunded{r.Returned, r.Sent} }

// written is what became of a write onto a refund. it is the refund as it is then, nil if there is none. unsure: the
// write was refused, perhaps because of an earlier try without an answer.
type written struct {
	it             table.Item
	isDone, unsure bool
}

// writeReturned writes onto a refund what is known of its money and what was sent, if it still says what it was, and
// others with it. A refund that is due again is noted in its sale's listing in the same transaction, because a count
// may have forgotten it.
func (l *Ledger) writeReturned(
	ctx context.Context, key table.Item, saleID string, was, after refunded, others table.Item,
) (written, error) {
	update := func(others table.Item) table.Update {
		return table.UpdateRefund(key, was.Returned, after.Returned, was.Sent, after.Sent, others)
	}
	if was.IsDue() || !after.IsDue() {
		u := update(others)
		u.Return = types.ReturnValueAllNew
		it, unsure, err := l.table.UpdateWithin(ctx, table.MaxTries, u)
		if refused, isRefused := errors.AsType[*types.ConditionalCheckFailedException](err); isRefused {
			return written{it: refused.Item, unsure: unsure}, nil
		}
		return written{it: it, isDone: err == nil}, sale.AsInternal(err)
	}
	now := table.Millis(l.now())
	again := table.With(table.Item{"again": now}, others)
	actions := []types.TransactWriteItem{l.table.Action(update(again))}
	if saleID != "" {
		actions = append(actions, l.table.Action(table.Update{
			Key: table.ListingKey(saleID), Expr: "SET #refundAt = :now", If: "attribute_exists(pk)",
			Values: table.Item{":now": now},
		}))
	}
	reasons, err := l.table.RetryTransaction(ctx, actions...)
	switch {
	case reasons == nil && err != nil:
		return written{}, err
	case reasons == nil:
		it, err := l.item(ctx, key)
		return written{it: it, isDone: true}, err
	case !table.Failed(reasons[0]):
		return written{}, sale.AsInternal(err)
	}
	return written{it: reasons[0].Item}, nil
}

// applyToClaim reports whether the payment goes back, because a cancellation or a recall came first.
func (l *Ledger) applyToClaim(
	ctx context.Context, a sale.Account, g table.Guard,
) (goesBack bool, done applied, err error) {
	o, err := l.Order(ctx, g.OrderID)
	if sale.CodeOf(err) == sale.OrderNotFound { // it is archived
		return false, done, nil
	}
	if err != nil {
		return false, done, err
	}
	s, err := l.existing(ctx, table.MaxTries, o.SaleID)
	if err != nil {
		return false, done, internalIfMissing(err)
	}
	of := &ordered{o, s}
	var was sale.Returned
	for left := l.table.UpTo(table.MaxTries); ; {
		after := was.Apply(a, g.Amount, g.Currency, l.now())
		u := table.UpdateReturned(of.claimKey(), "#payment = :payment", was, after, nil)
		if u.Return = types.ReturnValueAllNew; was == (sale.Returned{}) {
			u.Values[":payment"] = table.S(a.Payment)
		}
		claim, _, err := l.table.UpdateWithin(ctx, table.MaxTries, u)
		refused, isRefused := errors.AsType[*types.ConditionalCheckFailedException](err)
		if isRefused {
			claim = refused.Item
		} else if err != nil {
			return false, done, sale.AsInternal(err)
		}
		r := table.Read(claim)
		if r.OptionalText("payment") != a.Payment {
			return false, done, errClaimHidden
		}
		held, err := table.ReadReturned(claim)
		if err != nil {
			return false, done, sale.AsInternal(err)
		}
		if !isRefused || held.MoneyVersion >= a.V {
			done.isNew = !isRefused
			done.paidBack = done.isNew && was.RefundedAt.IsZero() && !held.RefundedAt.IsZero()
			return slices.Contains(r.OptionalTexts("refunds"), a.Payment), done, sale.AsInternal(r.Err)
		}
		was = held
		if !left.Again(ctx) {
			return false, done, sale.Fail(sale.Busy, errors.New("the claim changes all the time"))
		}
	}
}
