// Command plan sizes a sale before it happens: shards, capacity, concurrency and quotas
// for a crowd, and the expected time and cost, by rules of thumb and AWS's prices.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"flashsale/infra/kit/arguments"
	"flashsale/infra/kit/samconfig"
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
	if err := run(w, o); err != nil {
		fmt.Fprintln(os.Stderr, "plan:", err)
		os.Exit(1)
	}
}

// output is where the plan is written.
type output struct {
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
	f.DurationVar(&w.latency, "latency", 20*time.Millisecond, "median duration of a transaction")
	f.IntVar(&w.writes, "writes", tableQuota, "write units a second that the account allows a table")
	f.BoolVar(&w.front, "front", false, "CloudFront answers the sale page")
	f.BoolVar(&w.grouped, "group", false, "the sale has a limitGroup")
	f.BoolVar(&w.drawn, "draw", false, "show a draw beside the rush")
	f.DurationVar(&w.enter, "enter", 0, "with -draw: how long people may enter (default 72h)")
	f.DurationVar(&w.keep, "keep", 0, "with -draw: how long a unit is kept for somebody who was called (default 24h)")
	f.StringVar(&o.environment, "apply", "", "`environment` whose parameters are written beside the configuration file")
	f.BoolVar(&o.rest, "rest", false, "with -apply: take back the sale's parameters")
	opens := f.String("opens", "", "with -apply: when the sale opens, RFC 3339")
	if err := arguments.Parse(f, args); err != nil {
		return w, o, err
	}
	switch {
	case f.NArg() > 0:
		return w, o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case !w.drawn && (w.enter != 0 || w.keep != 0):
		return w, o, errors.New("ENTER and KEEP mean nothing without DRAW=1")
	case o.environment == "" && (o.rest || *opens != ""):
		return w, o, errors.New("OPENS and REST mean nothing without APPLY")
	}
	w.enter, w.keep = cmp.Or(w.enter, 72*time.Hour), cmp.Or(w.keep, 24*time.Hour)
	if o.environment == "" {
		return w, o, w.check()
	}
	e, err := samconfig.Read(o.config, o.environment)
	if err != nil || o.rest {
		return w, o, err
	}
	w.front = w.front || e.Parameters["CreateFront"] == "true"
	if o.opens, err = time.Parse(time.RFC3339, *opens); err != nil {
		return w, o, errors.New("APPLY needs OPENS, when the sale opens, such as OPENS=2026-11-11T12:00:00Z")
	}
	return w, o, w.check()
}

func run(w wish, o output) error {
	if o.rest {
		return rest(o)
	}
	a := advise(w)
	if o.environment != "" {
		if err := apply(o, a); err != nil {
			return err
		}
	}
	report(o.out, w, a, expect(w, a))
	return nil
}
