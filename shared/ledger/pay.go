package ledger

import (
	"context"
	"errors"
	"time"

	"flashsale/shared/ledger/table"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// LateOrderWait is how old an order id must be before a payment that names it, and finds no
// order item, is of an unknown order. Until then the item may still be late: the message
// may be repeated, or reconciliation may have to put it.
const LateOrderWait = 24 * time.Hour

// Pay records a verified payment: as its order's, or else as a refund due. One transaction
// writes that and the payment's guard, which is put only if it is absent and never deleted.
// So a payment has one fate, in whatever order its reports come, also if they contradict
// each other: a later report gets the first one's answer. On the claim the first of two
// writes decides between payment and release, not a clock. p must have passed Check.
//
// What providers have reported of the payment's money, also before the payment itself, is applied: the account is read
// after the guard, in each report. See ReportMoney.
//
// A payment that names another stack is recorded only if its order is here, of the sale that it names, as it is in a
// table that a deleted stack has kept: an account of a provider reports the payments of all its stacks to each.
//
// It does not matter whether the sale asks for payment: an order of any sale can be paid.
// A price is compared, if the sale has one: that of as many units as the claim has.
//
// Of a recalled sale no order stays paid for: from 2 seconds after the recall was answered, a report gets the
// refund due for that, also one whose first report was answered before. Until then an environment may
// not know of the recall, and the release function records the refund. So does a repeated report of the
// payment of a paid order that an operator has cancelled.
//
// It fails with sale.Busy when the outcome is unknown or the order item may be late, and
// then the provider must report the payment again; with sale.Internal.
func (l *Ledger) Pay(ctx context.Context, p sale.Payment) (Settlement, error) {
	done, err := l.settle(ctx, p)
	if err == nil && !done.Elsewhere {
		err = l.applyKnown(ctx, p.ID(), &done)
	}
	if err != nil || done.Refund != nil || done.Elsewhere {
		return done, err
	}
	s, err := l.Sale(ctx, done.SaleID)
	switch {
	case err != nil:
		err = internalIfMissing(err)
	case s.IsRecalled():
		done.Refund, err = l.refundPaidOrder(ctx, s, done.guard.OrderID, p.ID())
	case s.Cancelled > 0 && !done.New:
		done.Refund, err = l.refundOfPaid(ctx, s.ID, p.ID())
	}
	return done, err
}

// refundPaidOrder returns the refund of the payment that has paid an order of a recalled sale, and records it
// unless it is there.
func (l *Ledger) refundPaidOrder(
	ctx context.Context, s sale.Sale, orderID uint64, payment string,
) (*sale.Refund, error) {
	refund, err := l.refundOfPaid(ctx, s.ID, payment)
	if err == nil && refund == nil {
		var o sale.Order
		if o, err = l.Order(ctx, orderID); err == nil {
			if _, err = l.refundRecalled(ctx, s, []paid{{user: o.User, orderID: o.ID, payment: payment}}); err == nil {
				refund, err = l.refundOfPaid(ctx, s.ID, payment)
			}
		}
	}
	if err == nil && refund == nil {
		err = errRefundHidden
	}
	return refund, internalIfMissing(err)
}

// settle records a payment as if no sale were recalled.
func (l *Ledger) settle(ctx context.Context, p sale.Payment) (Settlement, error) {
	stored, err := l.readPayment(ctx, p)
	switch {
	case err != nil:
		return Settlement{}, err
	case stored.guard != nil:
		return l.settlementOf(ctx, p, stored.guard)
	case stored.order == nil && p.Stack != "":
		return Settlement{Elsewhere: true}, nil
	case stored.order == nil && p.OrderID != 0 && l.now().Sub(orderid.Time(p.OrderID)).Abs() < LateOrderWait:
		return Settlement{}, sale.Fail(sale.Busy, errors.New("the payment's order does not exist yet"))
	case stored.order == nil:
		return l.putRefund(ctx, p, refundReason(p, nil, sale.Claim{}), nil)
	}
	o, err := table.ReadOrder(stored.order)
	switch {
	case err != nil:
		return Settlement{}, sale.AsInternal(err)
	case p.Stack != "" && p.SaleID != "" && p.SaleID != o.SaleID: // stacks number their orders alike
		return Settlement{Elsewhere: true}, nil
	}
	s, err := l.existing(ctx, table.MaxTries, o.SaleID)
	if err != nil {
		return Settlement{}, internalIfMissing(err)
	}
	of := &ordered{o, s}
	units, err := l.unitsOrdered(ctx, of)
	if err != nil {
		return Settlement{}, err
	}
	if reason := refundReason(p, of, sale.Claim{Units: units}); reason != "" {
		return l.putRefund(ctx, p, reason, of)
	}
	return l.payClaim(ctx, p, of)
}

// unitsOrdered returns the units of an order as its claim has them. They never change, so a price is compared before it
// matters whether the claim is paid or released. Only the claims of a sale with a MaxPerOrder are read.
func (l *Ledger) unitsOrdered(ctx context.Context, o *ordered) (int64, error) {
	if o.sale.MaxPerOrder == 0 {
		return 0, nil
	}
	it, err := l.table.Get(ctx, o.claimKey())
	switch {
	case err != nil:
		return 0, err
	case it == nil:
		return 0, errClaimHidden
	}
	held, err := o.claimOf(it)
	return held.Units, err
}

// payClaim records a payment as its order's, unless the claim is paid or released.
func (l *Ledger) payClaim(ctx context.Context, p sale.Payment, o *ordered) (Settlement, error) {
	now := l.now()
	guard := table.GuardOf(p, o.SaleID, table.FatePaid)
	reasons, err := l.table.RetryTransaction(ctx,
		l.table.Put(table.GuardItem(p.ID(), guard, now)),
		l.table.Action(table.Update{
			Key: o.claimKey(), Expr: "SET #paidAt = :now, #payment = :payment, #amount = :amount, #currency = :currency",
			If: "#orderId = :orderId AND " + table.IfNotFinal, ReturnOld: true,
			Values: table.Item{
				":now": table.Millis(now), ":payment": table.S(p.ID()), ":amount": table.N(p.Amount),
				":currency": table.S(p.Currency), ":orderId": table.N(int64(o.ID)),
			},
		}),
	)
	switch {
	case err == nil:
		return Settlement{SaleID: o.SaleID, New: true, guard: guard}, nil
	case reasons == nil:
		return Settlement{}, err
	case table.Failed(reasons[0]):
		return l.settlementOf(ctx, p, reasons[0].Item)
	}
	held, err := o.claimOf(reasons[1].Item)
	if err != nil {
		return Settlement{}, err
	}
	if reason := refundReason(p, o, held); reason != "" {
		return l.putRefund(ctx, p, reason, o)
	}
	return Settlement{}, sale.AsInternal(errors.New("read cancellation: the claim meets its condition"))
}
