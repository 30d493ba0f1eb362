package ledger

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// Marking is what became of one refund that was to be marked as done.
type Marking struct {
	Payment string
	Refund  sale.Refund // as it is then
	Marked  bool        // by this call
	Doubled bool        // the payment is named before, and answered there
	// Err is sale.OrderNotFound if there is no such refund, sale.Busy or sale.Internal.
	Err error
}

// MarkRefunds marks refunds as MarkRefunded does, and notes by whom; payments are the ids of their payments, with or
// without sense. saleID is the sale of all of them; if it is "", each one's guard says which sale it is of, for one
// more read a payment. Every payment is answered, in the given order.
func (l *Ledger) MarkRefunds(ctx context.Context, saleID string, payments []string, actor string) []Marking {
	marks := make([]Marking, len(payments))
	named := map[string]bool{}
	var todo []*Marking
	var keys []table.Item
	for i, payment := range payments {
		m := &marks[i]
		m.Payment, m.Doubled = payment, named[payment]
		switch named[payment] = true; {
		case m.Doubled:
		case !isPayment(payment):
			m.Err = noRefund
		default:
			todo, keys = append(todo, m), append(keys, table.PaymentKey(payment))
		}
	}
	var guards map[table.Identity]table.Item
	var unread error
	if saleID == "" {
		guards, unread = l.table.GetAll(ctx, keys)
	}
	table.Each(len(todo), func(i int) {
		m, of := todo[i], saleID
		if m.Err = unread; m.Err != nil {
			return
		}
		if of == "" {
			r := table.Reader{Item: guards[table.IdentityOf(table.PaymentKey(m.Payment))]}
			if of = r.OptionalText("saleId"); r.Err != nil {
				m.Err = sale.AsInternal(r.Err)
				return
			}
		}
		m.Refund, m.Marked, m.Err = l.markRefunded(ctx, of, m.Payment, actor)
	})
	return marks
}

// noRefund is the error of a payment that has no refund.
var noRefund = sale.Refuse(sale.OrderNotFound, "no such refund")

// isPayment reports whether text may be the id of a payment. DynamoDB refuses longer keys.
func isPayment(text string) bool {
	provider, reference, found := strings.Cut(text, "#")
	p := sale.Payment{Provider: provider, Reference: reference, Currency: noCurrency}
	return found && p.Check() == nil
}

// MarkRefunded marks a refund as done, once, and reports whether this call did. payment
// is the id of its payment. It fails with sale.OrderNotFound if there is no such refund,
// with sale.Busy or sale.Internal.
func (l *Ledger) MarkRefunded(ctx context.Context, saleID, payment string) (sale.Refund, bool, error) {
	return l.markRefunded(ctx, saleID, payment, "")
}

// markRefunded notes by whom, too, unless actor is "".
func (l *Ledger) markRefunded(ctx context.Context, saleID, payment, actor string) (sale.Refund, bool, error) {
	now := l.now()
	set, values := "SET #refundedAt = :now", table.Item{":now": table.Millis(now)}
	if actor != "" {
		set += ", #refundedBy = :actor"
		values[":actor"] = table.S(actor)
	}
	marked, unsure, err := l.table.UpdateWithin(ctx, table.MaxTries, table.Update{
		Key: table.RefundKey(saleID, payment), Expr: set, Return: types.ReturnValueAllNew, ReturnOld: true,
		If: "attribute_exists(pk) AND attribute_not_exists(#refundedAt)", Values: values,
	})
	if err == nil {
		refund, err := table.ReadRefund(marked)
		return refund, true, sale.AsInternal(err)
	}
	refused, isRefused := errors.AsType[*types.ConditionalCheckFailedException](err)
	switch {
	case !isRefused:
		return sale.Refund{}, false, sale.AsInternal(err)
	case refused.Item == nil:
		return sale.Refund{}, false, noRefund
	}
	refund, err := table.ReadRefund(refused.Item)
	isOurs := unsure && refund.RefundedAt.UnixMilli() == now.UnixMilli() && refund.RefundedBy == actor
	return refund, isOurs, sale.AsInternal(err)
}

// PaidBack is what has become of a report that a payment was paid back.
type PaidBack struct {
	// Recorded: the payment was recorded, as its order's or as a refund due. SaleID is its order's sale, "" if unknown.
	Recorded bool
	SaleID   string
	// New: this report has marked the refund, or the order that stands although its payment is back.
	New bool
}

// PaidBack records that its provider has paid a payment back as a whole, once. A refund due is marked as
// done. If the payment has paid an order that stands, its claim is marked: it is the operators' to cancel the
// order, and then, as in a recall, the refund is done already. p must have passed CheckID. If it has an amount, that is
// what went back: another one than the payment's is a part, of which nothing is recorded. It fails with sale.Busy or
// sale.Internal.
func (l *Ledger) PaidBack(ctx context.Context, p sale.Payment) (PaidBack, error) {
	p.OrderID = 0 // the guard says which
	stored, err := l.readPayment(ctx, p)
	if err != nil || stored.guard == nil {
		return PaidBack{}, err
	}
	r := table.Read(stored.guard)
	done := PaidBack{Recorded: true, SaleID: r.OptionalText("saleId")}
	hasPaid := r.Text("fate") == table.FatePaid
	isPart := p.Amount != 0 && (p.Amount != r.Number("amount") || p.Currency != r.Text("currency"))
	switch {
	case r.Err != nil:
		return done, sale.AsInternal(r.Err)
	case isPart:
		return PaidBack{}, nil
	}
	_, done.New, err = l.MarkRefunded(ctx, done.SaleID, p.ID())
	switch isNone := sale.CodeOf(err) == sale.OrderNotFound; {
	case isNone && !hasPaid: // a transaction becomes visible item by item to plain reads
		return done, sale.Fail(sale.Busy, err)
	case !isNone:
		return done, err
	}
	o, err := l.Order(ctx, uint64(r.Number("orderId")))
	if sale.CodeOf(err) == sale.OrderNotFound { // it is archived
		return done, nil
	}
	if err != nil {
		return done, err
	}
	s, err := l.existing(ctx, table.MaxTries, o.SaleID)
	if err != nil {
		return done, internalIfMissing(err)
	}
	claim, _, err := l.table.UpdateWithin(ctx, table.MaxTries, table.Update{
		Key: (&ordered{o, s}).claimKey(), Expr: "SET #refundedAt = :now", Return: types.ReturnValueAllNew, ReturnOld: true,
		If:     "#payment = :payment AND attribute_not_exists(#refundedAt)",
		Values: table.Item{":now": table.Millis(l.now()), ":payment": table.S(p.ID())},
	})
	refused, isRefused := errors.AsType[*types.ConditionalCheckFailedException](err)
	switch {
	case isRefused && !table.Has(refused.Item, "refundedAt"):
		return done, sale.Fail(sale.Busy, errors.New("the claim is not where it was")) // its user is being erased
	case isRefused: // it was marked before, or by a try without an answer
		claim = refused.Item
	case err != nil:
		return done, sale.AsInternal(err)
	}
	done.New = !isRefused
	// A cancellation or a recall came first.
	if r := (table.Reader{Item: claim}); slices.Contains(r.OptionalTexts("refunds"), p.ID()) {
		_, _, err := l.MarkRefunded(ctx, o.SaleID, p.ID())
		return done, err
	}
	return done, nil
}
