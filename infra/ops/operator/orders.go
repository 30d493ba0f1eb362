package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"flashsale/infra/kit/spreadsheet"
	"flashsale/shared/httpapi"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// orderColumns are the columns of the list; for people without the first two.
var orderColumns = []string{
	"sale", "name", "order", "user", "state", "accepted", "confirmed", "paid", "payment", "amount", "currency", "released", "releasedBy", "labels",
}

// orderWidths are the columns' least widths for people.
var orderWidths = []int{0, 0, 19, 36, 9, 24, 24, 24, 30, 10, 8, 24, 10, 0}

// recalled is the state, in lists, of an order that is not over and whose sale was recalled.
const recalled sale.ClaimState = "RECALLED"

var orderStates = []sale.ClaimState{sale.Pending, sale.Confirmed, sale.Paid, sale.Expired, sale.Cancelled, recalled}

// stateOf is an order's state in lists.
func stateOf(s sale.Sale, c sale.Claim) sale.ClaimState {
	if s.IsRecalled() && c.ReleasedAt.IsZero() {
		return recalled
	}
	return c.State()
}

// listOrders lists the orders of a sale, all or those of a state, for people or with -csv for programs.
// It holds one page of claims at a time. What cannot be read hides nothing else, and is an error in the
// end.
func listOrders(ctx context.Context, p *place, o options, out io.Writer) error {
	state := sale.ClaimState(strings.ToUpper(o["state"]))
	if state != "" && !slices.Contains(orderStates, state) {
		return fmt.Errorf("%q is not a state: STATE is pending, confirmed, paid, expired, cancelled or recalled", o["state"])
	}
	book, err := p.ledger(ctx)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGPIPE) // `make orders | head` is no failure
	asCSV := o.has("csv")
	buffered := bufio.NewWriter(out)
	write, flush := forPeople(buffered), buffered.Flush
	if asCSV {
		list := spreadsheet.NewWriter(out, orderColumns...)
		write, flush = func(s sale.Sale, c sale.Claim) error { return list.Line(orderCells(s, c)...) }, list.Flush
	}
	show, clear := progress("orders")
	read, listed := int64(0), 0
	err = book.Claims(ctx, o["sale"], func(s sale.Sale, claims []sale.Claim) error {
		for _, c := range claims {
			if state != "" && stateOf(s, c) != state {
				continue
			}
			if err := write(s, c); err != nil {
				return err
			}
			listed++
		}
		read += int64(len(claims))
		show(read, -1)
		return nil
	})
	clear()
	flushed := flush()
	switch {
	case errors.Is(cmp.Or(err, flushed), syscall.EPIPE):
		return nil
	case err != nil:
		return fmt.Errorf("the list is not complete: %s", oneLine(err))
	case flushed != nil:
		return fmt.Errorf("write list: %w", flushed)
	case !asCSV:
		fmt.Fprintf(out, "%d orders\n", listed)
	}
	return nil
}

// orderCells are the cells of an order's line; a cell is empty if there is no such thing.
func orderCells(s sale.Sale, c sale.Claim) []spreadsheet.Cell {
	order, confirmed, amount := "", "", spreadsheet.Cell{}
	if c.OrderID != 0 {
		order, confirmed = orderid.String(c.OrderID), httpapi.Time(orderid.Time(c.OrderID))
	}
	if c.Currency != "" {
		amount = spreadsheet.Amount(c.Amount, c.Currency)
	}
	text, word := spreadsheet.Text, spreadsheet.Word
	return []spreadsheet.Cell{
		text(s.ID), text(s.Name), text(order), text(c.User), word(string(stateOf(s, c))), text(httpapi.Time(c.AcceptedAt)), text(confirmed), text(timeIf(c.PaidAt)),
		text(c.Payment), amount, word(c.Currency), text(timeIf(c.ReleasedAt)), word(string(c.ReleasedBy)), text(string(s.Labels)),
	}
}

func timeIf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return httpapi.Time(t)
}

// forPeople writes columns of fixed widths, because the widest cell is not known before the
// end.
func forPeople(out io.Writer) func(sale.Sale, sale.Claim) error {
	line := func(cells []string) error {
		var line strings.Builder
		for i, cell := range cells {
			fmt.Fprintf(&line, "%-*s ", orderWidths[i+2], cmp.Or(cell, "-"))
		}
		_, err := fmt.Fprintln(out, strings.TrimRight(line.String(), " "))
		return err
	}
	_ = line(orderColumns[2:]) // the buffer keeps its error
	return func(s sale.Sale, c sale.Claim) error {
		var cells []string
		for _, c := range orderCells(s, c)[2:] {
			cells = append(cells, c.Plain)
		}
		return line(cells)
	}
}
