package ledger

import (
	"context"
	"errors"
	"strings"
	"time"

	"flashsale/shared/ledger/table"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// LateOrderWait is how old an order id must be before a payment that names it, and finds no
// order item, is of an unknown order. Until then the item may still be late: the message
// may be repeated, or reconciliation may have to put it.
const LateOrderWait = 24 * time.Hour

// Settlement is what became of a payment: it is its order's, or a refund is due (P24).
type Settlement struct {
	// SaleID is the sale of the payment's order; "" if that is unknown.
	SaleID string
	// Refund is the refund due, or nil if the order is paid.
	Refund *sale.Refund
	// New is false if the payment was recorded before, or by a try of this call whose
	// answer was lost.
	New bool
	// Contradicts: the payment was recorded before, for another order or another amount.
	Contradicts bool

	paid uint64 // the order that it has paid; 0 if none
}

// Pay records a verified payment: as its order's, or else as a refund due. One transaction
// writes that and the payment's guard, which is put only if it is absent and never deleted.
// So a payment has one fate, in whatever order its reports come, also if they contradict
// each other: a later report gets the first one's answer. On the claim the first of two
// writes decides between payment and release, not a clock. p must have passed Check.
//
// It does not matter whether the sale asks for payment: an order of any sale can be paid.
// A price is compared, if the sale has one.
//
// Of a recalled sale no order stays paid for: from 2 seconds after the recall was answered, a report gets the
// refund due for that, also one whose first report was answered before. Until then an environment may
// not know of the recall, and the release function records the refund. So does a repeated report of the
// payment of a paid order that the office has cancelled.
//
// It fails with sale.Busy when the outcome is unknown or the order item may be late, and
// then the provider must report the payment again; with sale.Internal.
func (l *Ledger) Pay(ctx context.Context, p sale.Payment) (Settlement, error) {
	done, err := l.settle(ctx, p)
	if err != nil || done.Refund != nil {
		return done, err
	}
	s, err := l.Sale(ctx, done.SaleID)
	switch {
	case err != nil:
		err = internalIfMissing(err)
	case s.IsRecalled():
		done.Refund, err = l.refundPaidOrder(ctx, s, done.paid, p.ID())
	case s.Cancelled > 0 && !done.New:
		done.Refund, err = l.refundOfPaid(ctx, s.ID, p.ID())
	}
	return done, err
}

// refundOfPaid returns the refund of a payment that has paid an order, nil unless the office has cancelled
// that.
func (l *Ledger) refundOfPaid(ctx context.Context, saleID, payment string) (*sale.Refund, error) {
	it, err := l.table.Get(ctx, table.RefundKey(saleID, payment))
	if err != nil || it == nil {
		return nil, err
	}
	refund, err := table.ReadRefund(it)
	return &refund, sale.AsInternal(err)
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
			recall := releasing{Ledger: l, sale: s, done: &ReleaseResult{}}
			if _, err = recall.refundRecalled(ctx, []paid{{user: o.User, orderID: o.ID, payment: payment}}); err == nil {
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
		return l.fated(ctx, p, stored.guard)
	case stored.order == nil && p.OrderID != 0 && l.now().Sub(orderid.Time(p.OrderID)).Abs() < LateOrderWait:
		return Settlement{}, sale.Fail(sale.Busy, errors.New("the payment's order does not exist yet"))
	case stored.order == nil:
		return l.putRefund(ctx, p, refundReason(p, nil, sale.Claim{}), nil)
	}
	o, err := table.ReadOrder(stored.order)
	if err != nil {
		return Settlement{}, sale.AsInternal(err)
	}
	s, err := l.existing(ctx, table.MaxTries, o.SaleID)
	if err != nil {
		return Settlement{}, internalIfMissing(err)
	}
	of := &ordered{o, s}
	if reason := refundReason(p, of, sale.Claim{}); reason != "" {
		return l.putRefund(ctx, p, reason, of)
	}
	return l.payClaim(ctx, p, of)
}

// refundReason says why a payment goes back that has not paid its order: "" if it may be
// its order's. of is nil if there is no such order; held is the order's claim, zero as long as it
// is not known to be final.
func refundReason(p sale.Payment, of *ordered, held sale.Claim) sale.RefundReason {
	switch {
	case of == nil || p.SaleID != "" && p.SaleID != of.SaleID:
		return sale.RefundUnknownOrder
	case of.sale.Price != 0 && (p.Amount != of.sale.Price || p.Currency != of.sale.Currency):
		return sale.RefundAmount
	case !held.PaidAt.IsZero():
		return sale.RefundOtherPayment
	case held.Released():
		return sale.RefundReleased
	}
	return ""
}

// Recorded reports whether a payment was recorded, as its order's or as a refund due. It
// fails with sale.Busy or sale.Internal.
func (l *Ledger) Recorded(ctx context.Context, p sale.Payment) (bool, error) {
	stored, err := l.readPayment(ctx, p)
	return stored.guard != nil, err
}

// RecordedOtherwise reports whether a payment was recorded for another order or amount, so that Pay would say that it
// contradicts. It fails as Recorded does.
func (l *Ledger) RecordedOtherwise(ctx context.Context, p sale.Payment) (bool, error) {
	stored, err := l.readPayment(ctx, p)
	if err != nil || stored.guard == nil {
		return false, err
	}
	s, err := l.fated(ctx, p, stored.guard)
	return s.Contradicts, err
}

// ordered is an order that exists, with its sale.
type ordered struct {
	sale.Order
	sale sale.Sale
}

func (o *ordered) claimKey() table.Item {
	return table.ClaimKey(o.SaleID, sale.BucketOf(o.User, o.sale.Buckets), o.User)
}

// storedPayment is what the table has about a payment; what it does not have is nil.
type storedPayment struct{ guard, order table.Item }

// readPayment reads what is known about a payment, in one call.
func (l *Ledger) readPayment(ctx context.Context, p sale.Payment) (storedPayment, error) {
	keys := []table.Item{table.PaymentKey(p.ID())}
	if p.OrderID != 0 {
		keys = append(keys, table.OrderKey(p.OrderID))
	}
	found, err := l.table.BatchGet(ctx, table.MaxTries, keys, true)
	var stored storedPayment
	for _, it := range found {
		switch kind, _, _ := strings.Cut(table.IdentityOf(it).PK, "#"); kind {
		case "PAYMENT":
			stored.guard = it
		case "ORDER":
			stored.order = it
		}
	}
	return stored, err
}

// internalIfMissing: an order's sale and its claim always exist.
func internalIfMissing(err error) error {
	switch sale.CodeOf(err) {
	case sale.SaleNotFound, sale.OrderNotFound:
		return sale.Fail(sale.Internal, err)
	}
	return err
}

// payClaim records a payment as its order's, unless the claim is paid or released.
func (l *Ledger) payClaim(ctx context.Context, p sale.Payment, o *ordered) (Settlement, error) {
	now := l.now()
	reasons, err := l.table.RetryTransaction(ctx,
		l.table.Put(table.GuardItem(p, o.SaleID, table.FatePaid, now)),
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
		return Settlement{SaleID: o.SaleID, New: true, paid: o.ID}, nil
	case reasons == nil:
		return Settlement{}, err
	case table.Failed(reasons[0]):
		return l.fated(ctx, p, reasons[0].Item)
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

// claimOf reads the order's claim. It fails if that is another order's.
func (o *ordered) claimOf(it table.Item) (sale.Claim, error) {
	held, err := table.ReadClaim(o.SaleID, o.sale.Buckets, it)
	if err == nil && held.OrderID != o.ID {
		err = errors.New("the order's claim is another one")
	}
	return held, sale.AsInternal(err)
}

// fated returns the settlement of a payment that has a guard.
func (l *Ledger) fated(ctx context.Context, p sale.Payment, guard table.Item) (Settlement, error) {
	r := table.Read(guard)
	s := Settlement{
		SaleID: r.OptionalText("saleId"),
		Contradicts: uint64(r.OptionalNumber("orderId")) != p.OrderID ||
			r.Number("amount") != p.Amount || r.Text("currency") != p.Currency,
	}
	fate := r.Text("fate")
	switch {
	case r.Err != nil:
		return Settlement{}, sale.AsInternal(r.Err)
	case fate == table.FatePaid:
		s.paid = uint64(r.Number("orderId"))
		return s, sale.AsInternal(r.Err)
	case fate != table.FateRefund:
		return Settlement{}, sale.AsInternal(errors.New("read item: attribute fate is neither paid nor refund-due"))
	}
	refund, err := l.refundOfPaid(ctx, s.SaleID, p.ID())
	if err == nil && refund == nil {
		err = errRefundHidden
	}
	s.Refund = refund
	return s, err
}

// errRefundHidden: a transaction becomes visible item by item to plain reads.
var errRefundHidden = sale.Fail(sale.Busy, errors.New("the payment's refund is not visible yet"))
