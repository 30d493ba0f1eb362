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
	// greedyShare of the buyers who are not late click many times at once, keyedShare of all send
	// an Idempotency-Key, and lateShare arrive in the last third.
	greedyShare, keyedShare, lateShare = 0.2, 0.5, 0.2
)

// options are the flags, and what follows from them.
type options struct {
	url, env, config, sale, tokensFile, table, report, operator, local string
	allowRemote, payments, demo, rehearse                              bool
	rate, peak                                                         float64
	duration                                                           time.Duration
	stock, shards                                                      int
	seed                                                               uint64
	crowd
}

// crowd is how buyers behave.
type crowd struct {
	buyers   int           // who come all at once; 0: they come at the rate
	clicks   int           // at most, of one buyer
	inflight int           // requests at a time, at most
	patience time.Duration // of a buyer, for a final answer
	drain    time.Duration // time limit after the last arrival
}

// The demonstration's buyers come all at once. A lost message is sent again within five minutes
// of the acceptance (P8), also if it was lost twice, and then finalized: so long is patience.
var (
	steady        = crowd{clicks: 5, inflight: 256, patience: time.Minute, drain: 2 * time.Minute}
	demonstration = crowd{buyers: 1000, clicks: 3, inflight: 64, patience: 5*time.Minute + 30*time.Second, drain: 10 * time.Minute}
)

const demoStock, demoShards = 100, 5

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("load", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.url, "url", "http://127.0.0.1:3000", "the API's address")
	f.StringVar(&o.env, "env", "", "with -rehearse: environment in the configuration file, whose stack on AWS is loaded")
	f.StringVar(&o.config, "config", "infra/samconfig.toml", "the SAM CLI's configuration `file`")
	f.BoolVar(&o.allowRemote, "allow-remote", false, "allow a target on another machine: real calls that cost money")
	f.StringVar(&o.sale, "sale", "", "an existing sale's `id` (default: a new one)")
	f.StringVar(&o.tokensFile, "tokens", "", "`file` with one access token per line, each of a different user (default: from the local stack)")
	f.StringVar(&o.table, "table", "", "the deployed table's `name`, for the receipt")
	f.StringVar(&o.operator, "operator", "", "the operator `program` (default: operator, beside this program)")
	f.StringVar(&o.report, "report", "load.html", "`file` of the HTML report")
	f.BoolVar(&o.payments, "payments", false, "accepted buyers pay, but for a third of them; takes up to three minutes longer, and the local stack")
	f.BoolVar(&o.demo, "demo", false, "the demonstration: 1,000 buyers at once for 100 units on the local stack, and a line for each promise; with -payments also 9 to be paid within a minute, a third of which come back")
	f.StringVar(&o.local, "local", "", "with -demo: the local stack's `program`, started if no stack runs (default: local, beside this program)")
	f.BoolVar(&o.rehearse, "rehearse", false, "a trial sale, also on AWS, with its bill")
	f.Float64Var(&o.rate, "rate", 0, "buyers a second (default 200, with -rehearse 50)")
	f.Float64Var(&o.peak, "peak", 0, "buyers a second at the opening (default -rate)")
	f.DurationVar(&o.duration, "duration", 30*time.Second, "how long buyers arrive, up to 30m")
	f.IntVar(&o.stock, "stock", 0, "units of a new sale (default half of the buyers who are not late)")
	f.IntVar(&o.shards, "shards", 16, "stock shards of a new sale, 1 to 1,000")
	f.Uint64Var(&o.seed, "seed", 0, "`seed` of an earlier run, to repeat its buyers (default random)")
	if err := arguments.Parse(f, args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	o.crowd = steady
	switch {
	case o.demo:
		o.crowd, o.stock, o.shards, o.rate = demonstration, demoStock, demoShards, 1
	case o.rehearse:
		o.rate = cmp.Or(o.rate, 50)
	default:
		o.rate = cmp.Or(o.rate, 200)
	}
	o.url = strings.TrimSuffix(o.url, "/")
	if o.seed == 0 {
		o.seed = uint64(rand.Uint32()) + 1
	}
	return o, o.check()
}

func (o *options) check() error {
	err := cmp.Or(
		arguments.Between("rate", o.rate, 0.1, mostRate), arguments.Between("peak", o.peak, 0, mostRate),
		arguments.Between("duration", o.duration, 100*time.Millisecond, longest),
		arguments.Between("stock", o.stock, 0, 1_000_000_000), arguments.Between("shards", o.shards, 1, 1000))
	if err != nil {
		return err
	}
	if err := o.checkTarget(); err != nil {
		return err
	}
	switch {
	case o.report == "":
		return errors.New(arguments.Name("report") + " must name a file")
	case o.rehearse && o.sale != "":
		return errors.New("a rehearsal makes a sale of its own")
	case o.tokensFile != "" && o.sale == "" && !o.rehearse:
		return errors.New("TOKENS (-tokens) also needs an existing SALE (-sale)")
	case o.demo && (o.allowRemote || o.sale != "" || o.tokensFile != ""):
		return errors.New("the demonstration (-demo) makes its own sale on the local stack")
	case o.allowRemote && o.payments:
		return errors.New("PAYMENTS=1 (-payments) signs webhooks with the local stack's secrets, so it is for this machine only")
	case o.allowRemote && o.tokensFile == "":
		return errors.New("an API on another machine needs TOKENS (-tokens) and, but for a rehearsal, a SALE (-sale)")
	}
	return nil
}

// errRemote means that the target is another machine and -allow-remote was not given.
var errRemote = errors.New("load on another machine needs ALLOW_REMOTE=1 or -allow-remote (its owner pays for every call)")

// checkTarget refuses addresses of other machines, and stacks on AWS.
func (o *options) checkTarget() error {
	if o.env != "" {
		if !o.rehearse {
			return errors.New("ENV (-env) is for a rehearsal")
		}
		if !o.allowRemote {
			return fmt.Errorf("%s: %w", o.env, errRemote)
		}
		return nil
	}
	u, err := client.CheckAddress(o.url)
	if err != nil || o.allowRemote || client.Loopback(u.Hostname()) {
		return err
	}
	return fmt.Errorf("%s: %w", u.Hostname(), errRemote)
}

// settings lists the run's settings for the report.
func (o *options) settings(t target) [][2]string {
	stock := "unknown"
	if t.stock > 0 {
		stock = fmt.Sprint(t.stock)
	}
	return [][2]string{
		{"API", t.system.API}, {"sale", t.sale}, {"stock", stock},
		{"rate", fmt.Sprintf("%g/s for %v", o.rate, o.duration)},
		{"peak", fmt.Sprintf("%g/s for the first %v", max(o.peak, o.rate), peakFor)},
		{"greedy", fmt.Sprintf("%.0f %%, up to %d clicks at once", 100*greedyShare, o.clicks)},
		{"late", fmt.Sprintf("%.0f %%, in the last third", 100*lateShare)},
		{"with Idempotency-Key", fmt.Sprintf("%.0f %%", 100*keyedShare)},
		{"requests in flight", fmt.Sprintf("at most %d", o.inflight)},
		{"seed", fmt.Sprint(o.seed)},
	}
}
