package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
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

// cell is one row to come.
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

func run(ctx context.Context, args []string, stdout, stderr io.Writer, terminal bool) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitFine
	}
	if err != nil {
		fmt.Fprintln(stderr, "lab:", err)
		return exitNotRun
	}
	if o.speed > 0 {
		if err = runSpeed(ctx, o, stdout, stderr); errors.Is(err, errUnexpected) {
			return exitUnexpected
		} else if err != nil {
			fmt.Fprintln(stderr, "lab:", err)
			return exitNotRun
		}
		return exitFine
	}
	begun := time.Now()
	r, err := runAll(ctx, o, progress{stderr, terminal})
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	if err == nil || len(r.Rows) > 0 { // what there is, is reported
		r.Made = time.Now()
		r.Took = r.Made.Sub(begun)
		err = errors.Join(err, report(o, r, stdout, stderr))
	}
	if err != nil {
		fmt.Fprintf(stderr, "lab: %v\n", err)
		return exitNotRun
	}
	for _, row := range r.Rows {
		if !row.Expected {
			return exitUnexpected
		}
	}
	return exitFine
}

// report prints what was asked for and writes the page.
func report(o options, r page.Report, stdout, stderr io.Writer) (err error) {
	out := json.NewEncoder(stdout)
	out.SetIndent("", "  ")
	if o.json {
		err = out.Encode(r.Rows)
	} else {
		err = printTable(stdout, r.Rows)
	}
	if err != nil || o.page == "" {
		return err
	}
	if err := page.Write(o.page, r); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "page: %s\n", o.page)
	return nil
}

// runAll runs cell after cell. Engines are started when
// the first cell needs them and stopped at the end.
func runAll(ctx context.Context, o options, p progress) (r page.Report, err error) {
	program, err := os.Executable()
	if err != nil {
		return r, fmt.Errorf("find own program: %w", err)
	}
	dir, err := os.MkdirTemp("", "flashsale-lab-")
	if err != nil {
		return r, fmt.Errorf("make folder: %w", err)
	}
	pool := engines.NewPool(engines.Options{Dir: dir, Root: o.root, Path: o.path})
	defer func() { err = errors.Join(err, pool.Stop(), os.RemoveAll(dir)) }()
	r = page.Report{
		Rows: []trial.Row{}, Strategies: o.strategies, Scenarios: o.scenarios,
		Machine: fmt.Sprintf("%d CPUs, %s/%s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH),
	}
	return r, runCells(ctx, o, p, &trial.Lab{Program: program, Dir: dir, Engines: pool}, &r)
}

// runCells runs one cell after the other. A trial that did not work keeps none of the
// others from being run.
func runCells(ctx context.Context, o options, p progress, lab *trial.Lab, r *page.Report) (failed error) {
	all := o.cells()
	begun := time.Now()
	for i, c := range all {
		p.begin(i, len(all), c)
		row, err := lab.Run(ctx, c.spec, c.scenario, c.seed)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		row.Expected = row.Verdict == tally.NotRun || catalogue.Meets(row.Strategy, row.Scenario, row.Verdict)
		p.end(row)
		r.Rows = append(r.Rows, row)
	}
	p.done(len(all), time.Since(begun))
	return failed
}
