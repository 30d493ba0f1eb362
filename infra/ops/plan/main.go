// Command plan sizes a sale before it happens: shards, capacity, concurrency and quotas
// for a crowd, and the expected time and cost.
//
// It contains rules of thumb, prices and the printing; package model simulates
// the sale with the real functions, in virtual time.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"flashsale/infra/kit/arguments"
	"flashsale/infra/kit/samconfig"
	"flashsale/infra/ops/model"
)

func main() {
	w, o, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "plan:", err)
		os.Exit(2)
	}
	model.Virtually(&os.Args, func(t *testing.T) int {
		if err := run(t, w, o); err != nil {
			fmt.Fprintln(os.Stderr, "plan:", err)
			return 1
		}
		return 0
	}, os.Exit)
}

// output is where the plan is written.
type output struct {
	json          bool
	chart         string
	config        string    // the SAM CLI's configuration file
	environment   string    // whose parameters to write; empty means none
	opens         time.Time // when the sale opens
	rest          bool      // write the parameters for after the sale
	out, progress io.Writer
}

func parse(args []string, stderr io.Writer) (wish, output, error) {
	f := flag.NewFlagSet("plan", flag.ContinueOnError)
	f.SetOutput(stderr)
	o := output{config: "infra/samconfig.toml", out: os.Stdout, progress: stderr}
	var w wish
	f.IntVar(&w.users, "users", 0, "number of users who want a unit")
	f.Int64Var(&w.stock, "stock", 0, "number of units")
	f.Float64Var(&w.peak, "peak", 0, "first requests a second when the sale opens")
	f.DurationVar(&w.window, "w", 10*time.Millisecond, "how long a transaction keeps an item busy")
	f.DurationVar(&w.latency, "latency", 20*time.Millisecond, "median duration of a transaction")
	f.IntVar(&w.memory, "memory", 512, "memory of each function, in MB")
	f.IntVar(&w.writes, "writes", tableQuota, "write units a second that the account allows a table")
	f.Uint64Var(&w.seed, "seed", 1, "seed of the random choices")
	f.BoolVar(&w.front, "front", false, "CloudFront answers the sale page")
	f.BoolVar(&w.grouped, "group", false, "the sale has a limitGroup")
	f.IntVar(&w.shards, "shards", 0, "stock shards (default as the peak needs)")
	f.BoolVar(&w.steady, "steady", false, "users come at the rate of the peak until the last of them")
	f.IntVar(&w.concurrency, "concurrency", 0, "environments that PurchaseFunction may have (default as the peak needs)")
	f.BoolVar(&w.cold, "cold", false, "no provisioned concurrency")
	f.BoolVar(&w.drawn, "draw", false, "show a draw beside the rush")
	f.DurationVar(&w.enter, "enter", 72*time.Hour, "with -draw: how long people may enter")
	f.DurationVar(&w.keep, "keep", 24*time.Hour, "with -draw: how long a unit is kept for somebody who was called")
	f.StringVar(&w.region, "region", "us-east-1", "region whose prices apply")
	f.BoolVar(&o.json, "json", false, "print one JSON object instead of text")
	f.StringVar(&o.environment, "apply", "", "`environment` whose parameters are written beside the configuration file")
	f.BoolVar(&o.rest, "rest", false, "with -apply: take back the sale's parameters")
	opens := f.String("opens", "", "with -apply: when the sale opens, RFC 3339")
	f.StringVar(&o.chart, "chart", ".build/plan.html", "`file` for the chart")
	if err := arguments.Parse(f, args); err != nil {
		return w, o, err
	}
	if err := cmp.Or(arguments.With(f, "draw", "enter", "keep"), arguments.With(f, "apply", "opens", "rest")); err != nil {
		return w, o, err
	}
	switch {
	case f.NArg() > 0:
		return w, o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case o.environment == "":
		return w, o, w.check()
	}
	e, err := samconfig.Read(o.config, o.environment)
	if err != nil {
		return w, o, err
	}
	w.front = w.front || e.Parameters["CreateFront"] == "true"
	w.region = cmp.Or(e.Region, w.region)
	if o.rest {
		return w, o, nil
	}
	if o.opens, err = time.Parse(time.RFC3339, *opens); err != nil {
		return w, o, errors.New("APPLY needs OPENS, when the sale opens, such as OPENS=2026-11-11T12:00:00Z")
	}
	return w, o, w.check()
}

func run(t *testing.T, w wish, o output) error {
	// In virtual time goroutines mostly wait for each other, so a second processor
	// would be woken in vain; and the heap is small compared to the allocations.
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400)
	if o.rest {
		return rest(o)
	}
	a := advise(w)
	p := newProgress(o.progress, w)
	shared := scene(w, a, p.show)
	r, err := model.In(t, shared)
	p.end()
	if err != nil {
		return err
	}
	// The other end of the range is only needed for the selling rate.
	shared.Partitions, shared.UntilSold, shared.NoFinalize, shared.Progress = 0, true, true, nil
	unshared, err := model.In(t, shared)
	if err != nil {
		return err
	}
	if o.environment != "" {
		if err := apply(o, a); err != nil {
			return err
		}
	}
	if err := writeChart(o.chart, w, a, &r); err != nil {
		return err
	}
	if o.json {
		return printJSON(o.out, summary(w, a, &r, &unshared))
	}
	printText(o.out, w, a, &r, &unshared, o.chart)
	return nil
}
