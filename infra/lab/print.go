package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"flashsale/infra/lab/catalogue"
	"flashsale/infra/lab/tally"
	"flashsale/infra/lab/trial"
)

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
	return t.Flush()
}
