package ledger

import (
	"context"
	"strings"

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

// RefundPage returns at most most refunds of a sale, due and done, those after that payment in the order of their
// payments, or the first ones if after is "". Those of unknown orders are of the sale "". next continues, or is "" if
// there are no more; unreadable counts those that this release cannot read. It fails with sale.Busy or sale.Internal.
func (l *Ledger) RefundPage(
	ctx context.Context, saleID, after string, most int32,
) (refunds []sale.Refund, next string, unreadable int, err error) {
	page, err := l.refundPage(ctx, saleID, after, most)
	return page.refunds, page.last, len(page.unreadable), err
}
