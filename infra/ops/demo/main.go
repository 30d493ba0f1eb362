// Command demo is the demonstration: a crowd rushes for a much smaller number of bottles;
// then the books are recounted and every promise is checked.
//
// It calls a running stack over HTTP (or starts one) and verifies its answers. The recount
// reads the table's raw items and shares no code with the ledger, so that it cannot share
// the ledger's faults.
//
// It exits with 0 if every promise held, 1 if one is broken, 2 if it could not
// run.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/term"

	"flashsale/infra/kit/arguments"
	"flashsale/infra/kit/client"
)

const (
	exitFine   = 0
	exitBroken = 1
	exitNotRun = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr, term.IsTerminal(int(os.Stderr.Fd())))
	stop()
	os.Exit(code)
}

// options are the flags.
type options struct {
	apiPort                       int
	local                         string
	buyers, stock, shards, clicks int
	concurrency                   int
	seed                          uint64
	payments                      bool
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("demo", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&o.apiPort, "api-port", 3000, "the stack's API `port`")
	f.StringVar(&o.local, "local", "", "the stack's `program`, started if no stack runs (default: local, beside this program)")
	f.IntVar(&o.buyers, "buyers", 1000, "number of buyers, 1 to 20,000")
	f.IntVar(&o.stock, "stock", 100, "number of bottles, at least 1")
	f.IntVar(&o.shards, "shards", 5, "number of stock shards, 1 to 1,000, at most the stock")
	f.IntVar(&o.clicks, "clicks", 3, "maximum number of clicks of one buyer, 1 to 10")
	f.IntVar(&o.concurrency, "concurrency", 64, "maximum number of requests in flight, 1 to 1,000")
	f.Uint64Var(&o.seed, "seed", 0, "`seed` of an earlier run, to repeat its crowd (default random)")
	f.BoolVar(&o.payments, "payments", false, "also sell 9 bottles to be paid within a minute, a third of which come back; takes over a minute")
	if err := arguments.Parse(f, args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	err := cmp.Or(
		arguments.Between("buyers", o.buyers, 1, 20_000), arguments.Between("stock", o.stock, 1, 1_000_000),
		arguments.Between("shards", o.shards, 1, 1_000), arguments.Between("clicks", o.clicks, 1, 10),
		arguments.Between("concurrency", o.concurrency, 1, 1_000))
	if err != nil {
		return o, err
	}
	o.shards = min(o.shards, o.stock)
	if o.seed == 0 {
		o.seed = uint64(rand.Uint32()) + 1
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer, terminal bool) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitFine
	}
	if err != nil {
		fmt.Fprintln(stderr, "demo:", err)
		return exitNotRun
	}
	fmt.Fprintf(stdout, "%s buyers want one of %s bottles each; each clicks 1 to %d times; at most %d requests in flight (-seed %d repeats this crowd)\n",
		thousands(o.buyers), thousands(o.stock), o.clicks, o.concurrency, o.seed)
	bar := progress{stderr, terminal}

	system, own, err := findStack(ctx, o, stdout, bar)
	if err != nil {
		fmt.Fprintf(stderr, "demo: %v\n", err)
		return exitNotRun
	}
	defer system.Close()
	d := demonstration{
		options: o, system: system, out: stdout,
		progress: bar, now: time.Now, patience: confirmTime, payWithin: payWithin,
	}
	receipts, err := d.runAll(ctx)
	held := err == nil && !slices.ContainsFunc(receipts, func(r receipt) bool { return !allHold(r.lines) })
	if own != nil {
		own.end(stdout, !held && ctx.Err() == nil)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		fmt.Fprintln(stderr, "demo: interrupted")
		return exitNotRun
	case err != nil:
		fmt.Fprintf(stderr, "demo: %v\n", err)
		return exitNotRun
	}
	for _, r := range receipts {
		if !allHold(r.lines) {
			fmt.Fprintf(stdout, "\nThe sale %s is kept for inspection.\n", r.saleID)
		}
		printReceipt(stdout, r.saleID, r.lines)
	}
	if !held {
		return exitBroken
	}
	return exitFine
}

// findStack finds the running stack or starts one for the demonstration.
func findStack(ctx context.Context, o options, stdout io.Writer, bar progress) (client.System, *stack, error) {
	c := client.Options{Timeout: requestTime, Connections: o.concurrency}
	system, err := client.Find(ctx, fmt.Sprintf("http://127.0.0.1:%d", o.apiPort), c)
	if err == nil {
		fmt.Fprintf(stdout, "using the running stack at %s\n", system.API)
		return system, nil, nil
	}
	if ctx.Err() != nil {
		return system, nil, ctx.Err()
	}
	program := o.local
	if program == "" {
		self, err := os.Executable()
		if err != nil {
			return system, nil, fmt.Errorf("find this program's path: %w", err)
		}
		program = filepath.Join(filepath.Dir(self), "local")
	}
	fmt.Fprintln(stdout, "no stack is running: starting one for this demonstration")
	_, end := bar.step("starting the stack", 0)
	own, err := startStack(ctx, program, stdout)
	end()
	if err != nil {
		return system, nil, err
	}
	if system, err = client.Find(ctx, own.API, c); err != nil {
		own.end(stdout, ctx.Err() == nil)
		return system, nil, err
	}
	return system, own, nil
}
