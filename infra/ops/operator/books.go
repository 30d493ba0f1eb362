package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/spreadsheet"
	"flashsale/infra/ops/cli"
)

// receipt recounts sales from their items and fails with errBroken unless everything adds up; with --all it
// recounts all of the table. With --events it also compares the events in a file with the table.
func receipt(ctx context.Context, p *target, o options, out *terminal) error {
	all, events := o.has("all"), o["events"]
	ids := o.sales()
	switch {
	case ids[0] == "" && !all:
		return cli.Usagef("name the sale that is recounted, or give --all; %s names those of the table", p.flashsale("books list"))
	case ids[0] != "" && all:
		return cli.Usagef("give only one of a sale and --all")
	case events != "" && len(ids) > 1:
		return cli.Usagef("events are compared with one sale, or with --all")
	}
	if events != "" {
		file, err := cli.Open(out.command, events)
		if err = cmp.Or(cli.IsFile("events", events, "it is read twice"), err); err != nil {
			return err
		}
		file.Close()
	}
	sales, err := p.sales(ctx)
	if err != nil {
		return err
	}
	r := recounting{target: p, out: out, Options: books.Options{Full: o.has("full")}}
	if r.db, r.name, err = p.dynamodb(ctx); err != nil {
		return err
	}
	var incomplete error
	if events != "" {
		if incomplete = r.checkEvents(ctx, events, ids[0]); incomplete != nil && !errors.Is(incomplete, errBroken) {
			return incomplete
		}
	}
	if all {
		ids = nil
		for _, s := range sales {
			ids = append(ids, s.SaleID)
		}
	}
	if len(ids) == 0 {
		err = r.withoutSales(ctx)
	} else {
		err = r.recount(ctx, ids...)
	}
	if errors.Is(err, books.ErrNoSale) {
		err = fmt.Errorf("%w: %s names those of the table %s", err, p.flashsale("books list"), r.name)
	}
	return cmp.Or(err, incomplete)
}

func listBooks(ctx context.Context, p *target, _ options, out *terminal) error {
	sales, err := p.sales(ctx)
	if err != nil {
		return err
	}
	list, text := out.list("sale state closes"), spreadsheet.Text
	for _, s := range sales {
		b := book{s.SaleID, "open", instant(s.ClosesAt)}
		switch {
		case s.Newer:
			b = book{SaleID: s.SaleID, State: "for a newer version"}
		case s.Drained:
			b.State = "drained"
		case !s.ClosesAt.After(time.Now()):
			b.State = "closed"
		}
		if err := list.add(b, text(b.SaleID), text(b.State), text(b.ClosesAt)); err != nil {
			return err
		}
	}
	return list.end(nil)
}

type book struct {
	SaleID   string `json:"saleId"`
	State    string `json:"state"`
	ClosesAt string `json:"closesAt,omitempty"`
}

type recounting struct {
	target *target
	db     database
	name   string // of the table
	out    *terminal
	books.Options
}

// withoutSales says that the table has no sale, and fails with errBroken if it has items of
// one.
func (r recounting) withoutSales(ctx context.Context) error {
	found, notLookedFor, err := books.WithoutSales(ctx, r.db, r.name, r.Full)
	if err != nil {
		return err
	}
	value := map[string]any{"findings": append([]books.Finding{}, found...), "notLookedFor": append([]string{}, notLookedFor...)}
	return r.tell(len(found) == 0, value, func() {
		fmt.Fprintf(r.out, "the table %s has no sale\n", r.name)
		books.PrintList(r.out, "NOT BALANCED:", found)
		books.PrintList(r.out, "not checked:", notLookedFor)
	})
}

// tell writes a value in the form that was asked for, and fails with errBroken if it is not fine.
func (r recounting) tell(fine bool, value any, print func()) (err error) {
	if r.out.is(cli.JSON) {
		err = cli.WriteJSON(r.out, value)
	} else {
		print()
	}
	if err == nil && !fine {
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
		show, clear := r.out.progress("claims")
		var once sync.Once
		r.Progress = func(claims, about int64) {
			once.Do(func() { setGarbageCollector(about) })
			show(claims, about)
		}
		receipt, err := books.Recount(ctx, r.db, r.name, id, r.Options)
		clear()
		if err != nil {
			unread = errors.Join(unread, fmt.Errorf("no receipt of sale %s: %w", id, err))
			if _, err := r.target.sales(ctx); err != nil {
				return errors.Join(unread, err)
			}
			continue
		}
		if err := r.tell(receipt.Balanced, receipt, func() { receipt.Print(r.out) }); err == errBroken {
			broken = err
		} else if err != nil {
			return err
		}
	}
	return cmp.Or(unread, broken)
}

// setGarbageCollector sets the garbage collector for a recount, in which three numbers of each order stay in memory and what
// else is read is garbage soon: 24 MB of it may lie beside some 8 MB and those numbers, or half as much as stays, if
// that is more. A percentage that suits a large sale would have a small one collected all the time.
func setGarbageCollector(orders int64) {
	const garbage, base, each = 24 << 20, 8 << 20, 24
	debug.SetGCPercent(int(max(50, 100*garbage/(base+each*orders))))
}

// sales reads the list of sales, which shows that the table can be reached.
func (p *target) sales(ctx context.Context) ([]books.Listing, error) {
	db, table, err := p.dynamodb(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	sales, err := books.Sales(ctx, db, table)
	if err != nil {
		return nil, fmt.Errorf("the table %s cannot be read: %w", table, err)
	}
	return sales, nil
}

// checkEvents compares the events in a file with those of a sale, or of the whole table for
// the sale id "", and fails with errBroken unless every event is there and no other.
func (r recounting) checkEvents(ctx context.Context, path, saleID string) error {
	debug.SetGCPercent(50) // a number of each event stays in memory; what else is read is garbage soon
	var clear func()
	r.Progress, clear = r.out.progress("claims")
	found, err := books.CheckEvents(ctx, r.db, r.name, path, saleID, r.Options)
	clear()
	if err != nil {
		return err
	}
	return r.tell(found.Complete, found, func() { found.Print(r.out, path, saleID) })
}
