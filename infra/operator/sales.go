package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"flashsale/infra/books"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// recounters is how many sales are recounted at a time.
const recounters = 16

// sales lists every sale with its state and, unless it is drained, the result of a recount.
// It fails with errBroken if one does not balance.
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

// listBooks prints a line for each sale, also for those that it cannot read.
func listBooks(ctx context.Context, db books.DynamoDB, table string, book *ledger.Ledger, list []books.Listing, out io.Writer) error {
	receipts, failure := recountAll(ctx, db, table, list)
	states, lost := statesOf(ctx, book, list)
	failure = cmp.Or(failure, lost)
	lines := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(lines, "SALE\tSTATE\tCLOSES\tUNITS LEFT\tSEEDED\tPENDING\tBOOKS")
	var broken error
	for i, l := range list {
		r := receipts[i]
		if r == nil && !l.Drained || states[i] == "" {
			verdict := "not read: for a newer release"
			if failure != nil {
				verdict = "not read"
			}
			fmt.Fprintf(lines, "%s\t-\t-\t-\t-\t-\t%s\n", l.SaleID, verdict)
			broken = errBroken
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
		fmt.Fprintf(lines, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.SaleID, states[i], instant(l.ClosesAt), left, seeded, pending, verdict)
	}
	if err := lines.Flush(); err != nil {
		return fmt.Errorf("write list: %w", err)
	}
	return cmp.Or(failure, broken)
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

// recountAll returns the receipts of the sales that are neither drained nor for a newer
// release. A mismatch is
// counted again after some seconds, so several sales are counted at a time.
func recountAll(ctx context.Context, db books.DynamoDB, table string, list []books.Listing) ([]*books.Receipt, error) {
	receipts := make([]*books.Receipt, len(list))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(recounters)
	for i, l := range list {
		if l.Drained {
			continue
		}
		group.Go(func() (err error) {
			receipts[i], err = books.Recount(ctx, db, table, l.SaleID, books.Options{})
			if err != nil && !errors.Is(err, books.ErrNewerVersion) {
				return fmt.Errorf("recount %s: %s", l.SaleID, oneLine(err))
			}
			return nil
		})
	}
	return receipts, group.Wait()
}

// statesOf returns the states shown on the sales' pages: DRAFT if a sale's creation is in
// progress or was interrupted, "" if only a newer release can read it.
func statesOf(ctx context.Context, book *ledger.Ledger, list []books.Listing) ([]string, error) {
	states := make([]string, len(list))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(recounters)
	for i, l := range list {
		group.Go(func() error {
			s, err := book.Sale(ctx, l.SaleID)
			switch sale.CodeOf(err) {
			case "":
				states[i] = string(s.Phase(time.Now()))
			case sale.SaleNotFound:
				states[i] = string(sale.Draft)
			case sale.NewerVersion:
			default:
				return fmt.Errorf("read %s: %s", l.SaleID, oneLine(err))
			}
			return nil
		})
	}
	return states, group.Wait()
}
