package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"flashsale/infra/lab/engines"
	"flashsale/infra/lab/ids"
	"flashsale/infra/lab/shop"
)

// idsFor is how long each generator issues.
const idsFor = 500 * time.Millisecond

// compareIDs measures every generator. A missing engine makes a row that says so.
func compareIDs(ctx context.Context, pool *engines.Pool, p progress) ([]ids.Row, error) {
	rows := []ids.Row{}
	for _, g := range ids.All() {
		p.note("order ids: " + g.Name)
		var needs []shop.Need
		if g.Needs != "" {
			needs = append(needs, g.Needs)
		}
		running, err := pool.Get(ctx, needs, false)
		var missing *engines.MissingError
		if errors.As(err, &missing) {
			rows = append(rows, ids.Row{Generator: g.Name, Does: g.Does, NotRun: missing.Error()})
			continue
		}
		if err != nil {
			return nil, err
		}
		place := shop.Place{Sale: "ids"}
		for _, e := range running {
			e.Describe(&place)
		}
		row, err := ids.Measure(ctx, g, place, idsFor)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	p.note("")
	return rows, nil
}

func printIDs(out io.Writer, rows []ids.Row) error {
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "\ngenerator\tissued\t/s\tout of order\tguessable\ttwice\tlength\texample")
	for _, r := range rows {
		if r.NotRun != "" {
			fmt.Fprintf(t, "%s\t\t\t\t\t\t\tnot run: %s\n", r.Generator, r.NotRun)
			continue
		}
		fmt.Fprintf(t, "%s\t%d\t%.0f\t%.1f %%\t%.1f %%\t%d\t%d\t%s\n", r.Generator, r.Issued, r.PerSecond,
			100*r.Disorder, 100*r.Neighbours, r.Duplicates, r.Length, r.Example)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print ids: %w", err)
	}
	return nil
}
