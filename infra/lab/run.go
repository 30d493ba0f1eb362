package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"flashsale/infra/lab/catalogue"
	"flashsale/infra/lab/engines"
	"flashsale/infra/lab/page"
	"flashsale/infra/lab/scenario"
	"flashsale/infra/lab/shop"
	"flashsale/infra/lab/tally"
	"flashsale/infra/lab/trial"
)

// errUnexpected says that a verdict is not the expected one.
var errUnexpected = errors.New("a verdict is not the expected one")

type cell struct {
	spec     shop.Spec
	scenario scenario.Scenario
	seed     uint64
}

// cells are all combinations that make sense, strategy by strategy.
func (o *options) cells() []cell {
	var all []cell
	for _, spec := range o.strategies {
		for _, sc := range o.scenarios {
			for n := range o.seeds {
				if sc.Applies(&spec) {
					all = append(all, cell{spec, sc, o.seed + uint64(n)})
				}
			}
		}
	}
	return all
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if err == nil && o.speed > 0 {
		err = runSpeed(ctx, o, stdout, stderr)
	} else if err == nil {
		err = runCells(ctx, o, stdout, stderr)
	}
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitFine
	case errors.Is(err, errUnexpected):
		return exitUnexpected
	}
	fmt.Fprintln(stderr, "lab:", err)
	return exitNotRun
}

// runCells runs one cell after the other, and reports what there is. A trial that did not work keeps none of the
// others from being run. Engines are started when the first cell needs them and stopped at the end.
func runCells(ctx context.Context, o options, stdout, stderr io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "flashsale-lab-")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	lab := &trial.Lab{Program: o.program, Dir: dir, Engines: engines.NewPool(engines.Options{Dir: dir, Root: o.root, Path: o.path})}
	defer func() {
		lab.Engines.Stop()
		err = cmp.Or(err, os.RemoveAll(dir))
	}()
	r := page.Report{
		Rows: []trial.Row{}, Strategies: o.strategies, Scenarios: o.scenarios,
		Machine: fmt.Sprintf("%d CPUs, %s/%s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH),
	}
	var failed []error
	unexpected := false
	begun := time.Now()
	for _, c := range o.cells() {
		row, err := lab.Run(ctx, c.spec, c.scenario, c.seed)
		if ctx.Err() != nil {
			failed = append(failed, errors.New("interrupted"))
			break
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		row.Expected = row.Verdict == tally.NotRun || catalogue.Meets(row.Strategy, row.Scenario, row.Verdict)
		unexpected = unexpected || !row.Expected
		fmt.Fprintf(stderr, "%-24s %-14s seed %-3d %s%s\n", row.Strategy, row.Scenario, row.Seed, row.Verdict, surprise(row))
		r.Rows = append(r.Rows, row)
	}
	r.Made = time.Now()
	r.Took = r.Made.Sub(begun)
	fmt.Fprintf(stderr, "%d rows in %.0f s\n", len(r.Rows), r.Took.Seconds())
	if o.json {
		out := json.NewEncoder(stdout)
		out.SetIndent("", "  ")
		failed = append(failed, out.Encode(r.Rows))
	} else {
		failed = append(failed, printTable(stdout, r.Rows))
	}
	if o.page != "" {
		failed = append(failed, page.Write(o.page, r))
		fmt.Fprintf(stderr, "page: %s\n", o.page)
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	if unexpected {
		return errUnexpected
	}
	return nil
}

// surprise marks a verdict that is not the expected one.
func surprise(r trial.Row) string {
	if r.Expected {
		return ""
	}
	var want []string
	for _, v := range catalogue.Expected(r.Strategy, r.Scenario) {
		want = append(want, string(v))
	}
	return fmt.Sprintf("  (expected: %s)", strings.Join(want, " or "))
}

func printTable(out io.Writer, rows []trial.Row) error {
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "strategy\tscenario\tseed\tsold\toversold\tunsold\tdoubles\tlost\tmisled\t/s\tp50 ms\tp99 ms\tverdict\twhy")
	last := ""
	for _, r := range rows {
		name := r.Strategy
		if name == last {
			name = ""
		}
		last = r.Strategy
		if r.Verdict == tally.NotRun {
			fmt.Fprintf(t, "%s\t%s\t%d\t\t\t\t\t\t\t\t\t\t%s\t%s\n", name, r.Scenario, r.Seed, r.Verdict, r.Why)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d/%d\t%d\t%d\t%d\t%d\t%d\t%.0f\t%.0f\t%.0f\t%s\t%s%s\n", name, r.Scenario, r.Seed,
			r.Sold, r.Stock, r.Oversold, r.Unsold, r.Doubles, r.Lost, r.Misled, r.PerSecond, r.P50Ms, r.P99Ms, r.Verdict, r.Why, surprise(r))
	}
	return t.Flush()
}
