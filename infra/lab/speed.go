package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"flashsale/infra/lab/engines"
	"flashsale/infra/lab/speed"
	"flashsale/infra/lab/tally"
)

// rivals are the strategies that are measured unless others are named.
const rivals = "postgres-unique,postgres-batch,redis-lua-alone"

// runSpeed measures and prints: each round of each row a line of stderr, then a table. Its error is
// errUnexpected if an order was sold twice, lost or not answered while nothing was killed.
func runSpeed(ctx context.Context, o options, stdout, stderr io.Writer) error {
	rows, err := speed.Run(ctx, speed.Options{
		Program: o.program, Engines: engines.Options{Root: o.root, Path: o.path},
		Strategies: o.strategies, Clients: o.clients, Duration: o.speed, Rounds: o.seeds,
		Measured: func(r speed.Row) {
			fmt.Fprintf(stderr, "%-15s  %-6s  %6.0f accepted/s  %6.0f finished/s  %6.3f + %.3f ms  %s %s\n", r.Name, r.Medium, r.Accepted, r.Finished, milliseconds(r.Servers), milliseconds(r.Engines), r.Verdict, r.Why)
		},
	})
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "row\tstores in\taccepted/s\tto ours\tfinished/s\tserver ms\tengine ms\tp50 ms\tp99 ms\tkept after kill -9\tverdict\twhy")
	ours := map[string]float64{}
	for _, r := range rows {
		if r.Name == speed.Ours {
			ours[r.Medium] = r.Accepted
		}
		if r.Verdict != tally.Holds && r.Verdict != tally.NotRun {
			err = errUnexpected
		}
		if r.Verdict == tally.NotRun {
			fmt.Fprintf(t, "%s\t%s\t\t\t\t\t\t\t\t\t%s\t%s\n", r.Name, r.Medium, r.Verdict, r.Why)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%.0f\t%.2f\t%.0f\t%.3f\t%.3f\t%.1f\t%.1f\t%d of %d\t%s\t%s\n", r.Name, r.Medium, r.Accepted, r.Accepted/ours[r.Medium], r.Finished,
			milliseconds(r.Servers), milliseconds(r.Engines), r.P50Ms, r.P99Ms, r.Asked-r.Lost, r.Asked, r.Verdict, r.Why)
	}
	_ = t.Flush() // as for every print
	return err
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
