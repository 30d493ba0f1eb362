package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"flashsale/infra/kit/books"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// recounters is how many sales are recounted at a time.
const recounters = 16

// sales lists every sale with its state and, unless it is drained, the result of a recount.
// It fails if one cannot be read, and with errBroken if one does not balance.
func sales(ctx context.Context, p place, args []string, out io.Writer) error {
	if len(args) > 0 {
		return errors.New("sales takes no arguments")
	}
	db, table, err := p.dynamodb(ctx)
	if err != nil {
		return err
	}
	list, err := reach(ctx, db, table)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintf(out, "the table %s has no sale\n", table)
		return nil
	}
	book, err := p.ledger(ctx)
	if err != nil {
		return err
	}
	return listBooks(ctx, db, table, book, list, out)
}

// listBooks prints a line for each sale, for one that cannot be read the reason.
func listBooks(ctx context.Context, db books.DynamoDB, table string, book *ledger.Ledger, list []books.Listing, out io.Writer) error {
	lines := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(lines, "SALE\tSTATE\tCLOSES\tUNITS LEFT\tSEEDED\tPENDING\tBOOKS")
	unread := 0
	var broken error
	for i, s := range readSales(ctx, db, table, book, list) {
		l, r := list[i], s.receipt
		if s.err != nil {
			unread++
			fmt.Fprintf(lines, "%s\t-\t-\t-\t-\t-\tnot read: %s\n", l.SaleID, oneLine(s.err))
			continue
		}
		left, seeded, pending, verdict := "-", "-", "-", "balanced and drained"
		if r != nil {
			left, seeded, pending = strconv.FormatInt(r.Stock, 10), strconv.FormatInt(r.Seeded, 10), strconv.FormatInt(r.Pending, 10)
			verdict = "balanced" + payments(r)
			if !r.Balanced {
				verdict, broken = "NOT BALANCED: make receipt SALE="+l.SaleID, errBroken
			}
		}
		fmt.Fprintf(lines, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.SaleID, s.state, instant(l.ClosesAt), left, seeded, pending, verdict+s.note)
	}
	if err := lines.Flush(); err != nil {
		return fmt.Errorf("write list: %w", err)
	}
	if unread > 0 {
		return fmt.Errorf("the list is not complete: %d of %d sales could not be read", unread, len(list))
	}
	return broken
}

// payments says how the orders of a sale that asks for payment stand; "" of any other.
func payments(r *books.Receipt) string {
	if r.Paid+r.Unpaid+r.Released+r.RefundsDue == 0 {
		return ""
	}
	text := fmt.Sprintf("; %d paid, %d unpaid, %d released", r.Paid, r.Unpaid, r.Released)
	if r.RefundsDue > 0 {
		text += fmt.Sprintf(", %d REFUNDS DUE", r.RefundsDue)
	}
	return text
}

// saleReading is what was read of one sale; err is why it could not be read.
type saleReading struct {
	state   string         // as on the sale's page, or DRAFT
	note    string         // on its recall, behind the rest of its line
	receipt *books.Receipt // nil of a drained sale
	err     error
}

// readSales reads several sales at a time, because a mismatch is counted again after some
// seconds. A sale that cannot be read does not hide the others; a table that cannot ends the
// reading.
func readSales(ctx context.Context, db books.DynamoDB, table string, book *ledger.Ledger, list []books.Listing) []saleReading {
	readings := make([]saleReading, len(list))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(recounters)
	for i, l := range list {
		group.Go(func() error {
			s := &readings[i]
			if ctx.Err() == nil {
				s.state, s.note, s.err = stateOf(ctx, book, l.SaleID)
			}
			if ctx.Err() == nil && s.err == nil && !l.Drained {
				s.receipt, s.err = books.Recount(ctx, db, table, l.SaleID, books.Options{})
			}
			if ctx.Err() != nil {
				s.err = context.Cause(ctx)
			}
			if s.err == nil {
				return nil
			}
			_, err := reach(ctx, db, table)
			return err
		})
	}
	_ = group.Wait() // each sale has its error
	return readings
}

// stateOf returns the state shown on the sale's page: DRAFT if its creation is in progress or
// was interrupted; and what was written about its recall.
func stateOf(ctx context.Context, book *ledger.Ledger, saleID string) (state, note string, err error) {
	s, err := book.Sale(ctx, saleID)
	if sale.CodeOf(err) == sale.SaleNotFound {
		return string(sale.Draft), "", nil
	}
	if s.IsRecalled() {
		note = "; recalled" + because(s)
	}
	return string(s.Phase(time.Now())), note, err
}
