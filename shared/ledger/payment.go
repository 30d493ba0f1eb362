package ledger

import (
	"context"
	"errors"
	"strings"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// Settlement is what became of a payment: it is its order's, or a refund is due (P24).
type Settlement struct {
	// SaleID is the sale of the payment's order; "" if that is unknown.
	SaleID string
	// Refund is the refund due, or nil if the order is paid.
	Refund *sale.Refund
	// New is false if the payment was recorded before, or by a try of this call whose
	// answer was lost.
	New bool
	// Elsewhere: the payment names another stack, and no order of this one. Nothing is recorded.
	Elsewhere bool
	// Contradicts: the payment was recorded before, for another order or another amount.
	Contradicts bool
	// PaidBack: as of MoneyTaken, because its money was reported before the payment.
	PaidBack bool
	// Before is the account of what was reported of the payment's money before the payment, if this report was the first
	// to apply it; else nil.
	Before *sale.Account

	guard table.Guard
}

// ordered is an order that exists, with its sale.
type ordered struct {
	sale.Order
	sale sale.Sale
}

func (o *ordered) claimKey() table.Item {
	return table.ClaimKey(o.SaleID, sale.BucketOf(o.User, o.sale.Buckets), o.User)
}

// claimOf reads the order's claim. It fails if that is another order's.
func (o *ordered) claimOf(it table.Item) (sale.Claim, error) {
	held, err := table.ReadClaim(o.SaleID, o.sale.Buckets, it)
	if err == nil && held.OrderID != o.ID {
		err = errors.New("the order's claim is another one")
	}
	return held, sale.AsInternal(err)
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

// settlementOf returns the settlement of a payment that has a guard.
func (l *Ledger) settlementOf(ctx context.Context, p sale.Payment, guard table.Item) (Settlement, error) {
	g, err := table.ReadGuard(guard)
	if err != nil {
		return Settlement{}, sale.AsInternal(err)
	}
	s := Settlement{
		SaleID: g.SaleID, Contradicts: g.OrderID != p.OrderID || g.Amount != p.Amount || g.Currency != p.Currency, guard: g,
	}
	if g.Fate == table.FatePaid {
		return s, nil
	}
	refund, err := l.refundOfPaid(ctx, s.SaleID, p.ID())
	if err == nil && refund == nil {
		err = errRefundHidden
	}
	s.Refund = refund
	return s, err
}

// refundOfPaid returns the refund of a payment that has paid an order, nil unless an operator has cancelled
// that.
func (l *Ledger) refundOfPaid(ctx context.Context, saleID, payment string) (*sale.Refund, error) {
	it, err := l.table.Get(ctx, table.RefundKey(saleID, payment))
	if err != nil || it == nil {
		return nil, err
	}
	refund, err := table.ReadRefund(it)
	return &refund, sale.AsInternal(err)
}

// errRefundHidden: a transaction becomes visible item by item to plain reads.
var errRefundHidden = sale.Fail(sale.Busy, errors.New("the payment's refund is not visible yet"))

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
	s, err := l.settlementOf(ctx, p, stored.guard)
	return s.Contradicts, err
}

// internalIfMissing: an order's sale and its claim always exist.
func internalIfMissing(err error) error {
	switch sale.CodeOf(err) {
	case sale.SaleNotFound, sale.OrderNotFound:
		return sale.Fail(sale.Internal, err)
	}
	return err
}
