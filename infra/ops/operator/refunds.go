package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// unknownOrders stands for a sale in the list of refunds.
const unknownOrders = "(no such order)"

// refunds lists the payments that must go back to a buyer, or with -go marks one as
// refunded. It moves no money: the operator refunds at the payment provider.
func refunds(ctx context.Context, p *place, o options, out io.Writer) error {
	saleID, mark, payment := o["sale"], o.has("go"), o["payment"]
	switch {
	case mark && payment == "":
		return errors.New("name the payment as make refunds lists it: make refunds SALE=moutai GO=1 PAYMENT='stripe#pi_1'")
	case !mark && payment != "":
		return errors.New("nothing was marked: add GO=1 when the buyer has the money back")
	}
	book, err := p.ledger(ctx)
	if err != nil {
		return err
	}
	if mark {
		return markRefunded(ctx, book, saleID, payment, out)
	}
	ids := []string{saleID}
	if saleID == "" { // every sale, and at the end the payments of unknown orders
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
func listRefunds(ctx context.Context, book *ledger.Ledger, ids []string, out io.Writer) error {
	var failure error
	lines := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	due, done := 0, 0
	for _, id := range ids {
		found, err := book.Refunds(ctx, id)
		if err != nil { // it does not hide those of the others
			failure = errors.Join(failure, fmt.Errorf("refunds of %s: %w", cmp.Or(id, unknownOrders), err))
		}
		for _, r := range found {
			if due+done == 0 {
				fmt.Fprintln(lines, "SALE\tPAYMENT\tMINOR UNITS\tORDER\tBECAUSE\tSINCE\tREFUNDED")
			}
			saleID, order, refunded := id, "-", "DUE"
			if id == "" {
				saleID = unknownOrders
			}
			if r.OrderID != 0 {
				order = orderid.String(r.OrderID)
			}
			if due++; !r.RefundedAt.IsZero() {
				due, done, refunded = due-1, done+1, instant(r.RefundedAt)
			}
			fmt.Fprintf(lines, "%s\t%s\t%d %s\t%s\t%s\t%s\t%s\n", saleID, r.Payment, r.Amount, r.Currency, order, r.Reason, instant(r.At), refunded)
		}
	}
	if err := lines.Flush(); err != nil {
		return fmt.Errorf("write list: %w", err)
	}
	if failure != nil {
		return fmt.Errorf("the list is not complete: %s", oneLine(failure))
	}
	fmt.Fprintf(out, "%d refunds due, %d done\n", due, done)
	return nil
}

func markRefunded(ctx context.Context, book *ledger.Ledger, saleID, payment string, out io.Writer) error {
	r, marked, err := book.MarkRefunded(ctx, saleID, payment)
	switch {
	case sale.CodeOf(err) == sale.OrderNotFound:
		return fmt.Errorf("no refund of %s is due: make refunds lists those that are, each with its sale", payment)
	case err != nil:
		return fmt.Errorf("%s; repeat the command: it marks a refund once", oneLine(err))
	case marked:
		fmt.Fprintf(out, "%s, %d %s, is marked as refunded at %s\n", r.Payment, r.Amount, r.Currency, instant(r.RefundedAt))
	default:
		fmt.Fprintf(out, "%s, %d %s, was marked as refunded at %s, and nothing changed now: do not pay it back again\n",
			r.Payment, r.Amount, r.Currency, instant(r.RefundedAt))
	}
	return nil
}
