package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"flashsale/infra/kit/spreadsheet"
	"flashsale/infra/ops/cli"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

const unknownOrders = "(no such order)"

// refunds lists the refunds of sales, the done ones, too, and what it has found before an error. It asks every sale
// that was ever listed and does not rely on refundAt in the list: this is the list by which money goes back.
func refunds(ctx context.Context, p *place, o options, out *terminal) error {
	book, err := p.ledger(ctx)
	if err != nil {
		return err
	}
	ids := o.sales()
	if ids[0] == "" { // every sale, and at the end the payments of unknown orders
		listed, err := p.sales(ctx)
		if err != nil {
			return err
		}
		ids = nil
		for _, l := range listed {
			ids = append(ids, l.SaleID)
		}
		ids = append(ids, "")
	} else if _, err := book.Existing(ctx, ids[0]); err != nil { // that nothing is due of it would be no answer
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

// markRefunded marks a payment as refunded, once. It moves no money: the operator refunds at the payment provider.
func markRefunded(ctx context.Context, p *place, o options, out *terminal) error {
	saleID, payment := o["sale"], o["payment"]
	none := cli.Bad(fmt.Errorf("NOT MARKED: no refund of %s is due in %s: %s lists those that are, each with its sale",
		payment, cmp.Or(saleID, unknownOrders), p.flashsale("refund list")))
	book, err := p.ledger(ctx)
	if err != nil {
		return err
	}
	if o.has("dry-run") {
		found, err := book.Refunds(ctx, saleID)
		at := slices.IndexFunc(found, func(r sale.Refund) bool { return r.Payment == payment })
		switch {
		case err != nil:
			return err
		case at < 0:
			return none
		case !found[at].RefundedAt.IsZero():
			fmt.Fprintf(out, "%s was marked as refunded at %s, and nothing would change\n", payment, instant(found[at].RefundedAt))
		default:
			fmt.Fprintf(out, "%s, %s, would be marked as refunded; nothing was changed\n", payment, money(found[at]))
		}
		return nil
	}
	r, marked, err := book.MarkRefunded(ctx, saleID, payment)
	switch {
	case sale.CodeOf(err) == sale.OrderNotFound:
		return none
	case err != nil:
		return fmt.Errorf("%w; repeat the command: it marks a refund once", err)
	case marked:
		fmt.Fprintf(out, "%s, %s, is marked as refunded at %s\n", r.Payment, money(r), instant(r.RefundedAt))
	default:
		fmt.Fprintf(out, "%s, %s, was marked as refunded at %s, and nothing changed now: do not pay it back again\n",
			r.Payment, money(r), instant(r.RefundedAt))
	}
	return nil
}

// money is a refund's amount as the list has it.
func money(r sale.Refund) string {
	return spreadsheet.Amount(r.Amount, r.Currency).Plain + " " + r.Currency
}
