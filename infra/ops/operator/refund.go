package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"flashsale/infra/kit/spreadsheet"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
)

const unknownOrders = "(no such order)"

// refunds lists the refunds of sales, the done ones, too, and what it has found before an error. It asks every sale
// that was ever listed and does not rely on refundAt in the list: this is the list by which money goes back.
func refunds(ctx context.Context, p *place, o options, out *terminal) error {
	book, err := p.ledger(ctx)
	if err != nil {
		return err
	}
	ids, err := p.refundable(ctx, book, o.sales())
	if err != nil {
		return err
	}
	list := out.list("sale payment amount currency order reason since refunded")
	text, word := spreadsheet.Text, spreadsheet.Word
	var unread error
	due, done := 0, 0
	for _, id := range ids {
		found, err := book.Refunds(ctx, id)
		if err != nil { // it does not hide those of the others
			unread = errors.Join(unread, fmt.Errorf("refunds of %s: %w", cmp.Or(id, unknownOrders), err))
		}
		for _, r := range found {
			order, refunded := "", spreadsheet.Cell{Plain: "DUE"}
			if r.OrderID != 0 {
				order = orderid.String(r.OrderID)
			}
			if due++; !r.RefundedAt.IsZero() {
				due, done, refunded = due-1, done+1, text(instant(r.RefundedAt))
			}
			if err := list.add(listedRefund{id, order, refundOf(r)},
				text(cmp.Or(id, unknownOrders)), text(r.Payment), spreadsheet.Amount(r.Amount, r.Currency), word(r.Currency), text(order),
				word(string(r.Reason)), text(instant(r.At)), refunded); err != nil {
				return err
			}
		}
	}
	if err := list.end(unread); err != nil {
		return err
	}
	out.notef("%d refunds due, %d done", due, done)
	return nil
}

type listedRefund struct {
	SaleID  string `json:"saleId,omitempty"` // none of an unknown order
	OrderID string `json:"orderId,omitempty"`
	refundJSON
}

// refundable are the sales that may have refunds, at the end "" for those of unknown orders, if none is given.
func (p *place) refundable(ctx context.Context, book *ledger.Ledger, ids []string) ([]string, error) {
	if ids[0] != "" {
		_, err := book.Existing(ctx, ids[0]) // that nothing is due of it would be no answer
		return ids, err
	}
	listed, err := p.sales(ctx)
	ids = nil
	for _, l := range listed {
		ids = append(ids, l.SaleID)
	}
	return append(ids, ""), err
}

// money is an amount as the lists have it.
func money(amount int64, currency string) string {
	return spreadsheet.Amount(amount, currency).Plain + " " + currency
}
