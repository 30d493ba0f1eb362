package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"flashsale/infra/lab/catalogue"
	"flashsale/infra/lab/tally"
	"flashsale/infra/lab/trial"
)

// progress says what is being run: on a terminal in one line that is written
// over, else a line per row.
type progress struct {
	out      io.Writer
	terminal bool
}

const clear = "\r\x1b[K"

func (p progress) begin(i, of int, c cell) {
	if p.terminal {
		fmt.Fprintf(p.out, "%s%d/%d %s, %s, seed %d", clear, i+1, of, c.spec.Name, c.scenario.Name, c.seed)
	}
}

func (p progress) end(r trial.Row) {
	if !p.terminal {
		fmt.Fprintf(p.out, "%-24s %-14s seed %-3d %s%s\n", r.Strategy, r.Scenario, r.Seed, r.Verdict, surprise(r))
	}
}

func (p progress) done(cells int, took time.Duration) {
	if p.terminal {
		fmt.Fprint(p.out, clear)
	}
	fmt.Fprintf(p.out, "%d rows in %.0f s\n", cells, took.Seconds())
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

// printTable prints the rows, a block per strategy.
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
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print table: %w", err)
	}
	return nil
}
