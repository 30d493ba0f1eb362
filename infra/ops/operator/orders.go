package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"flashsale/shared/httpapi"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// orderColumns are the columns of the list, in both forms.
var orderColumns = []string{
	"order", "user", "state", "accepted", "confirmed", "paid", "payment", "amount", "currency", "released", "releasedBy", "labels",
}

// orderWidths are the columns' least widths for people.
var orderWidths = []int{19, 36, 9, 24, 24, 24, 30, 8, 8, 24, 10, 0}

var orderStates = []sale.ClaimState{sale.Pending, sale.Confirmed, sale.Paid, sale.Expired, sale.Cancelled}

// claimList is the part of the ledger that orders uses.
type claimList interface {
	Claims(ctx context.Context, saleID string, report func(sale.Sale, []sale.Claim) error) error
}

// listOrders lists the orders of a sale, for people or with -csv for programs. It holds one
// page of claims at a time.
func listOrders(ctx context.Context, p *place, o options, out io.Writer) error {
	state := sale.ClaimState(strings.ToUpper(o["state"]))
	if state != "" && !slices.Contains(orderStates, state) {
		return fmt.Errorf("%q is not a state: STATE is pending, confirmed, paid, expired or cancelled", o["state"])
	}
	book, err := p.ledger(ctx)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGPIPE) // `make orders | head` is no failure
	return writeOrders(ctx, book, o["sale"], state, o.has("csv"), out)
}

// writeOrders writes the orders of that state, all for "". What cannot be read hides nothing
// else, and is an error in the end.
func writeOrders(ctx context.Context, book claimList, saleID string, state sale.ClaimState, asCSV bool, out io.Writer) error {
	buffered := bufio.NewWriter(out)
	write, flush := forPeople(buffered)
	if asCSV {
		write, flush = forPrograms(buffered)
	}
	show, clear := progress("orders")
	read, listed, recalled := int64(0), 0, false
	err := write(orderColumns)
	if err == nil {
		err = book.Claims(ctx, saleID, func(s sale.Sale, claims []sale.Claim) error {
			for _, c := range claims {
				if state != "" && c.State() != state {
					continue
				}
				if err := write(orderLine(s, c)); err != nil {
					return err
				}
				listed++
			}
			recalled = s.IsRecalled()
			read += int64(len(claims))
			show(read, -1)
			return nil
		})
	}
	clear()
	if recalled {
		fmt.Fprintf(os.Stderr, "%s was recalled: deliver nothing of it, also what is PAID\n", saleID)
	}
	flushed := cmp.Or(flush(), buffered.Flush())
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

// orderLine is an order's line; a cell is empty if there is no such thing.
func orderLine(s sale.Sale, c sale.Claim) []string {
	order, confirmed, amount := "", "", ""
	if c.OrderID != 0 {
		order, confirmed = orderid.String(c.OrderID), httpapi.Time(orderid.Time(c.OrderID))
	}
	if !c.PaidAt.IsZero() && c.Currency == "" {
		// A release that did not store the amount recorded the payment; only the price could pay.
		c.Amount, c.Currency = s.Price, s.Currency
	}
	if c.Currency != "" {
		amount = strconv.FormatInt(c.Amount, 10)
	}
	return []string{
		order, c.User, string(c.State()), httpapi.Time(c.AcceptedAt), confirmed, timeIf(c.PaidAt), c.Payment, amount, c.Currency,
		timeIf(c.ReleasedAt), string(c.ReleasedBy), string(s.Labels),
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
func forPeople(out io.Writer) (write func([]string) error, flush func() error) {
	return func(cells []string) error {
		var line strings.Builder
		for i, cell := range cells {
			fmt.Fprintf(&line, "%-*s ", orderWidths[i], cmp.Or(cell, "-"))
		}
		_, err := fmt.Fprintln(out, strings.TrimRight(line.String(), " "))
		return err
	}, func() error { return nil }
}

// forPrograms writes CSV (RFC 4180). A cell that a spreadsheet could take for a formula
// begins with an apostrophe, and so does one that begins with an apostrophe: whoever removes the
// first one has the exact text.
func forPrograms(out io.Writer) (write func([]string) error, flush func() error) {
	lines := csv.NewWriter(out)
	return func(cells []string) error {
			quoted := make([]string, len(cells))
			for i, cell := range cells {
				if first, _ := utf8.DecodeRuneInString(cell); cell != "" && strings.ContainsRune("=+-@\t\r'＝＋－＠", first) {
					cell = "'" + cell
				}
				quoted[i] = cell
			}
			return lines.Write(quoted)
		}, func() error {
			lines.Flush()
			return lines.Error()
		}
}
