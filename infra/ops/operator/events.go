package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"flashsale/infra/kit/books"
)

// checkEvents compares the events in a file with those of a sale, or of the whole table for
// the sale id "", and fails with errBroken unless every event is there and no other.
func checkEvents(ctx context.Context, db books.DynamoDB, table, path, saleID string, o books.Options, asJSON bool, out io.Writer) error {
	show, clear := progress("claims")
	o.Progress = show
	r, err := books.CheckEvents(ctx, db, table, path, saleID, o)
	switch clear(); {
	case errors.Is(err, books.ErrNoSale), errors.Is(err, books.ErrNewerVersion):
		return err
	case err != nil:
		return errors.New(oneLine(err))
	}
	if asJSON {
		err = writeJSON(out, r)
	} else {
		printEvents(out, path, saleID, r)
	}
	if err == nil && !r.Complete {
		err = errBroken
	}
	return err
}

func printEvents(out io.Writer, path, saleID string, r *books.EventReport) {
	fmt.Fprintf(out, "events of %s in %s\n", cmp.Or(saleID, "all sales and unknown orders"), path)
	for _, line := range []struct {
		name  string
		value int64
		about string
	}{
		{"expected", r.Expected, ""}, {"published", r.Published, ""}, {"repeated", r.Repeated, "  under the same id, which is allowed"},
		{"not kept", r.NotKept, "  SaleSoldOut, or SaleDrained before an edit: the table does not keep them"},
		{"waiting", r.Waiting, "  expected, and not overdue yet"},
	} {
		if line.value == 0 && line.about != "" {
			continue
		}
		fmt.Fprintf(out, "  %-14s %12d%s\n", line.name, line.value, line.about)
	}
	fmt.Fprintf(out, "  %-14s %12.0f read units\n", "cost", r.ReadUnits)
	if r.Complete {
		fmt.Fprintln(out, "complete: what is in the table was published, with what the table says, and nothing else")
	}
	list(out, "NOT COMPLETE:", r.Findings)
}
