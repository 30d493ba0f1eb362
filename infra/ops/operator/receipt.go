package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"flashsale/infra/kit/books"
)

// receipt recounts a sale from its items and fails with errBroken unless everything adds up.
// Without a sale it lists the sales; with -all it recounts all of them. With -events it also
// compares the events in a file with the table.
func receipt(ctx context.Context, p *place, o options, out io.Writer) error {
	saleID, all, events := o["sale"], o.has("all"), o["events"]
	switch {
	case saleID != "" && all:
		return errors.New("give only one of SALE and ALL=1")
	case events != "" && saleID == "" && !all:
		return errors.New("name the sale whose events are compared: make receipt SALE=moutai EVENTS=… (ALL=1: those of the whole table)")
	case saleID == "" && !all && (o.has("json") || o.has("full")):
		return errors.New("name the sale that is recounted: make receipt SALE=moutai (ALL=1: every sale)")
	}
	sales, err := p.sales(ctx)
	if err != nil {
		return err
	}
	r := recounting{place: p, json: o.has("json"), out: out, Options: books.Options{Full: o.has("full")}}
	if r.db, r.name, err = p.dynamodb(ctx); err != nil {
		return err
	}
	if saleID == "" && !all {
		listSales(out, r.name, sales)
		return nil
	}
	var incomplete error
	if events != "" {
		incomplete = r.checkEvents(ctx, events, saleID)
	}
	if err = incomplete; err == nil || errors.Is(err, errBroken) {
		var ids []string
		for _, s := range sales {
			ids = append(ids, s.SaleID)
		}
		switch {
		case !all:
			err = r.recount(ctx, saleID)
		case len(ids) == 0:
			err = r.withoutSales(ctx)
		default:
			err = r.recount(ctx, ids...)
		}
		err = cmp.Or(err, incomplete)
	}
	if errors.Is(err, books.ErrNoSale) {
		return fmt.Errorf("%w: make receipt without SALE lists the sales of the table %s", err, r.name)
	}
	return err
}

// recounting is a recount of the sales of a table.
type recounting struct {
	place *place
	db    database
	name  string // of the table
	json  bool
	out   io.Writer
	books.Options
}

// withoutSales says that the table has no sale, and fails with errBroken if it has items of
// one.
func (r recounting) withoutSales(ctx context.Context) error {
	found, notLookedFor, err := books.WithoutSales(ctx, r.db, r.name, r.Full)
	if err != nil {
		return errors.New(oneLine(err))
	}
	if r.json {
		err = writeJSON(r.out, map[string]any{"findings": append([]books.Finding{}, found...), "notLookedFor": append([]string{}, notLookedFor...)})
	} else {
		fmt.Fprintf(r.out, "the table %s has no sale\n", r.name)
		books.PrintList(r.out, "NOT BALANCED:", found)
		books.PrintList(r.out, "not checked:", notLookedFor)
	}
	if err == nil && len(found) > 0 {
		err = errBroken
	}
	return err
}

// recount writes a receipt of each sale. One that cannot be read, or is for a newer
// release, is an error in the end, unless nothing can be read any more. It fails with errBroken
// if all were read and any does not balance.
func (r recounting) recount(ctx context.Context, ids ...string) error {
	var broken, unread error
	for _, id := range ids {
		var clear func()
		r.Progress, clear = progress("claims")
		receipt, err := books.Recount(ctx, r.db, r.name, id, r.Options)
		clear()
		if err != nil {
			unread = errors.Join(unread, fmt.Errorf("no receipt of sale %s: %w", id, inOneLine(err)))
			if _, err := r.place.sales(ctx); err != nil {
				return errors.Join(unread, err)
			}
			continue
		}
		if r.json {
			err = writeJSON(r.out, receipt)
		} else {
			receipt.Print(r.out)
		}
		if err != nil {
			return err
		}
		if !receipt.Balanced {
			broken = errBroken
		}
	}
	return cmp.Or(unread, broken)
}

// inOneLine is an error of package books, of which callers tell two from all others.
func inOneLine(err error) error {
	if errors.Is(err, books.ErrNoSale) || errors.Is(err, books.ErrNewerVersion) {
		return err
	}
	return errors.New(oneLine(err))
}

// sales reads the list of sales, which shows that the table can be reached.
func (p *place) sales(ctx context.Context) ([]books.Listing, error) {
	db, table, err := p.dynamodb(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	sales, err := books.Sales(ctx, db, table)
	if err != nil {
		return nil, fmt.Errorf("the table %s cannot be read: %s", table, oneLine(err))
	}
	return sales, nil
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

func listSales(out io.Writer, table string, sales []books.Listing) {
	if len(sales) == 0 {
		fmt.Fprintf(out, "the table %s has no sale\n", table)
		return
	}
	fmt.Fprintf(out, "sales of the table %s (make receipt SALE=… recounts one, ALL=1 all of them):\n", table)
	for _, s := range sales {
		state := "closes"
		switch {
		case s.Newer:
			fmt.Fprintf(out, "  %-30s  for a newer release\n", s.SaleID)
			continue
		case s.Drained:
			state = "drained, closed"
		case !s.ClosesAt.After(time.Now()):
			state = "closed"
		}
		fmt.Fprintf(out, "  %-30s  %s %s\n", s.SaleID, state, s.ClosesAt.Format(time.RFC3339))
	}
}

// progress shows a bar on a terminal: what is done and about how much there is, -1 if that
// is unknown. clear removes the bar.
func progress(of string) (show func(done, about int64), clear func()) {
	if !term.IsTerminal(int(os.Stderr.Fd())) {
		return func(int64, int64) {}, func() {}
	}
	bar := progressbar.NewOptions64(-1, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetDescription(of),
		progressbar.OptionShowCount(), progressbar.OptionSetWidth(30), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish())
	// A terminal error must not stop the command.
	return func(done, about int64) {
		if about >= 0 {
			bar.ChangeMax64(max(about, 1))
		}
		_ = bar.Set64(done)
	}, func() { _ = bar.Clear() }
}

func writeJSON(out io.Writer, r any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("write receipt: %w", err)
	}
	return nil
}

// checkEvents compares the events in a file with those of a sale, or of the whole table for
// the sale id "", and fails with errBroken unless every event is there and no other.
func (r recounting) checkEvents(ctx context.Context, path, saleID string) error {
	var clear func()
	r.Progress, clear = progress("claims")
	found, err := books.CheckEvents(ctx, r.db, r.name, path, saleID, r.Options)
	clear()
	if err != nil {
		return inOneLine(err)
	}
	if r.json {
		err = writeJSON(r.out, found)
	} else {
		found.Print(r.out, path, saleID)
	}
	if err == nil && !found.Complete {
		err = errBroken
	}
	return err
}
