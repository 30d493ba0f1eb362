package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"flashsale/infra/kit/arguments"
	"flashsale/infra/kit/client"
)

const (
	// mostBuyers bounds the memory and the tokens of a run.
	mostBuyers = 200_000
	// mostRate, in buyers a second, is more than one machine can send.
	mostRate = 20_000
	// longest is the longest schedule.
	longest = 30 * time.Minute
	// peakFor is how long the peak lasts.
	peakFor = 2 * time.Second
	// greedyShare of the buyers who are not late click many times at once, and keyedShare of all send
	// an Idempotency-Key.
	greedyShare, keyedShare = 0.2, 0.5
)

// options are the flags.
type options struct {
	url, sale, tokensFile, table, report, operator, local string
	allowRemote, payments, demo                           bool
	rate, peak                                            float64
	duration, patience, drain                             time.Duration
	late                                                  float64
	buyers, clicks, inflight, stock, shards               int
	seed                                                  uint64
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("load", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.url, "url", "http://127.0.0.1:3000", "the API's address")
	f.BoolVar(&o.allowRemote, "allow-remote", false, "allow -url on another machine: real calls that cost money")
	f.StringVar(&o.sale, "sale", "", "an existing sale's `id` (default: the local stack makes a new one)")
	f.StringVar(&o.tokensFile, "tokens", "", "`file` with one access token per line, each of a different user (default: from the local stack)")
	f.StringVar(&o.table, "table", "", "the deployed table's `name`, for the receipt")
	f.StringVar(&o.operator, "operator", "", "the operator `program` (default: operator, beside this program)")
	f.StringVar(&o.report, "report", "load.html", "`file` of the HTML report")
	f.BoolVar(&o.payments, "payments", false, "accepted buyers pay, but for a third of them; takes up to three minutes longer, and the local stack")
	f.BoolVar(&o.demo, "demo", false, "the demonstration: -buyers at once on the local stack, and a line for each promise; with -payments also 9 bottles to be paid within a minute, a third of which come back")
	f.StringVar(&o.local, "local", "", "with -demo: the local stack's `program`, started if no stack runs (default: local, beside this program)")
	f.IntVar(&o.buyers, "buyers", 0, "with -demo: number of buyers, who come all at once")
	f.Float64Var(&o.rate, "rate", 200, "buyers a second")
	f.Float64Var(&o.peak, "peak", 0, "buyers a second at the opening (default -rate)")
	f.DurationVar(&o.duration, "duration", 30*time.Second, "how long buyers arrive, up to 30m")
	f.DurationVar(&o.patience, "patience", time.Minute, "how long a buyer waits for a final answer")
	f.DurationVar(&o.drain, "drain", 2*time.Minute, "time limit after the last arrival, up to 10m")
	f.Float64Var(&o.late, "late", 0.2, "share of buyers who arrive in the last third, 0 to 1")
	f.IntVar(&o.clicks, "clicks", 5, "maximum number of clicks of a greedy buyer, 2 to 20, with -demo of any, 1 to 20")
	f.IntVar(&o.inflight, "inflight", 256, "maximum number of requests in flight, 1 to 10,000")
	f.IntVar(&o.stock, "stock", 0, "units of a new sale (default half of the buyers who are not late)")
	f.IntVar(&o.shards, "shards", 16, "stock shards of a new sale, 1 to 1,000")
	f.Uint64Var(&o.seed, "seed", 0, "`seed` of an earlier run, to repeat its buyers (default random)")
	if err := arguments.Parse(f, args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if o.demo {
		given := map[string]bool{}
		f.Visit(func(g *flag.Flag) { given[g.Name] = true })
		for name, value := range preset {
			if given[name] {
				continue
			}
			if err := f.Set(name, value); err != nil {
				return o, err
			}
		}
	}
	o.url = strings.TrimSuffix(o.url, "/")
	o.peak = max(o.peak, 0)
	if o.seed == 0 {
		o.seed = uint64(rand.Uint32()) + 1
	}
	return o, o.check()
}

func (o *options) check() error {
	leastClicks := 2
	if o.buyers > 0 {
		leastClicks = 1
	}
	err := cmp.Or(
		arguments.Between("rate", o.rate, 0.1, mostRate), arguments.Between("peak", o.peak, 0, mostRate),
		arguments.Between("duration", o.duration, 100*time.Millisecond, longest),
		arguments.Between("patience", o.patience, time.Second, 10*time.Minute),
		arguments.Between("drain", o.drain, 0, 10*time.Minute),
		arguments.Between("buyers", o.buyers, 0, mostBuyers), arguments.Between("late", o.late, 0, 1),
		arguments.Between("clicks", o.clicks, leastClicks, 20), arguments.Between("inflight", o.inflight, 1, 10_000),
		arguments.Between("stock", o.stock, 0, 1_000_000_000), arguments.Between("shards", o.shards, 1, 1000))
	if err != nil {
		return err
	}
	if o.report == "" {
		return errors.New(arguments.Name("report") + " must name a file")
	}
	if err := checkTarget(o.url, o.allowRemote); err != nil {
		return err
	}
	if o.tokensFile != "" && o.sale == "" {
		return errors.New("TOKENS (-tokens) also needs an existing SALE (-sale)")
	}
	if o.buyers > 0 && !o.demo {
		return errors.New("-buyers is for the demonstration (-demo)")
	}
	if o.demo && (o.buyers == 0 || o.stock == 0 || o.allowRemote || o.sale != "" || o.tokensFile != "") {
		return errors.New("the demonstration (-demo) needs -buyers and -stock, and makes its own sale on the local stack")
	}
	if o.allowRemote && o.payments {
		return errors.New("PAYMENTS=1 (-payments) signs webhooks with the local stack's secrets, so it is for this machine only")
	}
	if o.allowRemote && o.tokensFile == "" {
		return errors.New("an API on another machine needs SALE (-sale) and TOKENS (-tokens)")
	}
	return nil
}

// errRemote means that the target is another machine and -allow-remote was not given.
var errRemote = errors.New("load on another machine needs ALLOW_REMOTE=1 or -allow-remote (its owner pays for every call)")

// checkTarget refuses addresses of other machines.
func checkTarget(address string, allowRemote bool) error {
	u, err := client.CheckAddress(address)
	if err != nil || allowRemote || client.Loopback(u.Hostname()) {
		return err
	}
	return fmt.Errorf("%s: %w", u.Hostname(), errRemote)
}

// settings lists the run's settings for the report.
func (o *options) settings(p place) [][2]string {
	stock := "unknown"
	if p.stock > 0 {
		stock = fmt.Sprint(p.stock)
	}
	return [][2]string{
		{"API", o.url}, {"sale", p.sale}, {"stock", stock},
		{"rate", fmt.Sprintf("%g/s for %v", o.rate, o.duration)},
		{"peak", fmt.Sprintf("%g/s for the first %v", max(o.peak, o.rate), peakFor)},
		{"greedy", fmt.Sprintf("%.0f %%, up to %d clicks at once", 100*greedyShare, o.clicks)},
		{"late", fmt.Sprintf("%.0f %%, in the last third", 100*o.late)},
		{"with Idempotency-Key", fmt.Sprintf("%.0f %%", 100*keyedShare)},
		{"requests in flight", fmt.Sprintf("at most %d", o.inflight)},
		{"seed", fmt.Sprint(o.seed)},
	}
}
