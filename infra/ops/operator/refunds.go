package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"

	"flashsale/infra/kit/spreadsheet"
	"flashsale/infra/ops/cli"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// unknownOrders stands for a sale in the list of refunds.
const unknownOrders = "(no such order)"

// refunds lists the payments that must go back to a buyer.
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
	}
	return listRefunds(ctx, book, ids, out)
}

// listRefunds prints the refunds of the sales, the done ones, too, and what it has found before
// an error. It asks every sale that was ever listed and does not rely on refundAt in the list:
// this is the list by which money goes back.
func listRefunds(ctx context.Context, book *ledger.Ledger, ids []string, out *terminal) error {
	var failure error
	write, flush := refundWriter(out)
	due, done := 0, 0
	for _, id := range ids {
		found, err := book.Refunds(ctx, id)
		if err != nil { // it does not hide those of the others
			failure = errors.Join(failure, fmt.Errorf("refunds of %s: %w", cmp.Or(id, unknownOrders), err))
		}
		for _, r := range found {
			if due++; !r.RefundedAt.IsZero() {
				due, done = due-1, done+1
			}
			if err := write(id, r); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return fmt.Errorf("write list: %w", err)
	}
	if failure != nil {
		return fmt.Errorf("the list is not complete: %w", failure)
	}
	if out.is(cli.Table) {
		fmt.Fprintf(out, "%d refunds due, %d done\n", due, done)
	}
	return nil
}

// listedRefund is a refund in a list of JSON.
type listedRefund struct {
	SaleID  string `json:"saleId,omitempty"` // none of an unknown order
	OrderID string `json:"orderId,omitempty"`
	refundJSON
}

// refundWriter writes refunds in the form that was asked for.
func refundWriter(out *terminal) (write func(saleID string, r sale.Refund) error, flush func() error) {
	order := func(r sale.Refund) string {
		if r.OrderID == 0 {
			return ""
		}
		return orderid.String(r.OrderID)
	}
	switch {
	case out.is(cli.JSON):
		list := cli.NewArray(out)
		return func(saleID string, r sale.Refund) error { return list.Add(listedRefund{saleID, order(r), refundOf(r)}) }, list.Close
	case out.is(cli.CSV):
		list := spreadsheet.NewWriter(out, "sale", "payment", "amount", "currency", "order", "reason", "since", "refunded")
		text, word := spreadsheet.Text, spreadsheet.Word
		return func(saleID string, r sale.Refund) error {
			return list.Line(text(cmp.Or(saleID, unknownOrders)), text(r.Payment), spreadsheet.Amount(r.Amount, r.Currency), word(r.Currency), text(order(r)), word(string(r.Reason)),
				text(timeIf(r.At)), text(timeIf(r.RefundedAt)))
		}, list.Flush
	}
	lines := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	begun := false
	return func(saleID string, r sale.Refund) error {
		if !begun {
			begun = true
			fmt.Fprintln(lines, "SALE\tPAYMENT\tMINOR UNITS\tORDER\tBECAUSE\tSINCE\tREFUNDED")
		}
		refunded := "DUE"
		if !r.RefundedAt.IsZero() {
			refunded = instant(r.RefundedAt)
		}
		_, err := fmt.Fprintf(lines, "%s\t%s\t%d %s\t%s\t%s\t%s\t%s\n", cmp.Or(saleID, unknownOrders), r.Payment, r.Amount, r.Currency, cmp.Or(order(r), "-"), r.Reason, instant(r.At), refunded)
		return err
	}, lines.Flush
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
			fmt.Fprintf(out, "%s, %d %s, would be marked as refunded; nothing was changed\n", payment, found[at].Amount, found[at].Currency)
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
		fmt.Fprintf(out, "%s, %d %s, is marked as refunded at %s\n", r.Payment, r.Amount, r.Currency, instant(r.RefundedAt))
	default:
		fmt.Fprintf(out, "%s, %d %s, was marked as refunded at %s, and nothing changed now: do not pay it back again\n",
			r.Payment, r.Amount, r.Currency, instant(r.RefundedAt))
	}
	return nil
}
