// Command compare measures the overhead of the local stack over its engine: the rate of
// accepted and finalized orders through the whole stack, divided by the rate of the same
// writes sent directly to the same engine, in one run on one machine.
// The stack is also measured with a bare function in place of PurchaseFunction: its cost is
// that of the hops, the runtime and the SDK, and the rest is this project's code.
// The same client drives both sides with prepared requests, so its cost is small and the
// same for both. Each line also shows how the CPU time of an order is divided among the
// processes, because on a small machine CPU time limits the stack, while the engine waits
// for an fsync per transaction.
//
// Absolute rates depend on the machine and its other load. The rounds are interleaved so
// that both sides meet the same load, and the result is the median of the ratios. The raw
// writes are recorded from the real ledger, so this command contains no keys and no
// expressions.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"

	"flashsale/infra/arguments"
	"flashsale/infra/local/stack"
)

// options are the flags.
type options struct {
	root, bare                 string
	rounds, callers, processes int
	users, confirmers, batch   int
	round                      time.Duration
	profile, only              string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("compare", flag.ContinueOnError)
	f.StringVar(&o.root, "root", ".", "the project's `folder`")
	f.StringVar(&o.bare, "bare", ".build/host/bare/PurchaseFunction/bootstrap", "the `program` of the bare function, in a folder named after the function")
	f.IntVar(&o.rounds, "rounds", 3, "number of rounds of each measurement, 1 to 20")
	f.DurationVar(&o.round, "round", 3*time.Second, "duration of each measurement, 200ms to 10s")
	f.IntVar(&o.callers, "callers", 64, "number of concurrent buyers, 1 to 256")
	f.IntVar(&o.processes, "processes", 0, "maximum number of processes of one function (0: the stack's default)")
	f.IntVar(&o.confirmers, "confirmers", 8, "number of batches that the raw side finalizes concurrently, 1 to 64")
	f.IntVar(&o.users, "users", 1000, "number of different buyers, 64 to 10,000; each buys once in every sale of a round")
	f.StringVar(&o.profile, "profile", "", "`file` for a CPU profile of this process, in which the stack runs")
	f.StringVar(&o.only, "only", "", "measure only the sides whose `name` contains this, for a profile")
	if err := arguments.Parse(f, args); err != nil {
		return o, err
	}
	o.batch = 25
	return o, cmp.Or(arguments.Between("rounds", o.rounds, 1, 20), arguments.Between("callers", o.callers, 1, 256),
		arguments.Between("processes", o.processes, 0, 256), arguments.Between("confirmers", o.confirmers, 1, 64),
		arguments.Between("users", o.users, 64, 10_000), arguments.Between("round", o.round, 200*time.Millisecond, 10*time.Second))
}

// rates is the result of one measurement: orders per second and the CPU time of an
// accepted order.
type rates struct {
	accepted, finalized float64
	cost                usage
}

// rates computes the rates of a crowd, given how many of its orders were finalized.
func (s sold) rates(finalized int) rates {
	return rates{s.perSecond(s.orders), s.perSecond(finalized), s.spent.each(s.orders)}
}

// side is one of the systems that are compared.
type side struct {
	name string
	sell func(ctx context.Context, d time.Duration) (rates, error)
	seen []rates
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	// As in the stack's program, which this program replaces.
	debug.SetGCPercent(stack.GCPercent)
	dir, err := os.MkdirTemp("", "flashsale-compare-")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(dir)
	sides, stop, err := start(ctx, o, dir, out)
	defer func() {
		if err := stop(); err != nil {
			fmt.Fprintln(out, "stop:", err)
		}
	}()
	if err != nil {
		return err
	}
	if o.profile != "" {
		f, err := os.Create(o.profile)
		if err != nil {
			return fmt.Errorf("write profile: %w", err)
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return fmt.Errorf("write profile: %w", err)
		}
		defer pprof.StopCPUProfile()
	}
	if err := measure(ctx, o, sides, out); err != nil {
		return err
	}
	if o.only == "" {
		summary(sides, out)
	}
	return nil
}

// measure runs the rounds, with every side once in each, after a short warm-up round that
// starts processes and opens connections.
func measure(ctx context.Context, o options, sides []*side, out io.Writer) error {
	for round := range o.rounds + 1 {
		for _, s := range sides {
			if !strings.Contains(s.name, o.only) {
				continue
			}
			d := o.round
			if round == 0 {
				d = min(d, time.Second)
			}
			r, err := s.sell(ctx, d)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if round == 0 {
				continue
			}
			s.seen = append(s.seen, r)
			fmt.Fprintf(out, "round %d  %-22s accepted %6.0f/s  finalized %6.0f/s  %v\n", round, s.name, r.accepted, r.finalized, r.cost)
		}
	}
	return nil
}

// summary prints the medians of the rates and of the ratios of each round, whose two sides
// were measured within seconds of each other. For "both" the lower of the accepted and the
// finalized rate counts: an order is done when it is finalized.
func summary(sides []*side, out io.Writer) {
	rawAlone, stackAlone, stackBare, rawBoth, stackBoth := sides[0], sides[1], sides[2], sides[3], sides[4]
	accepted := func(r rates) float64 { return r.accepted }
	finalized := func(r rates) float64 { return r.finalized }
	done := func(r rates) float64 { return min(r.accepted, r.finalized) }
	fmt.Fprintf(out, "\nmedian   transactions: raw %.0f/s, stack %.0f/s accepted, with a bare function %.0f/s\n",
		rawAlone.median(accepted), stackAlone.median(accepted), stackBare.median(accepted))
	fmt.Fprintf(out, "median   with finalize: raw %.0f/s accepted, %.0f/s finalized; stack %.0f/s accepted, %.0f/s finalized\n",
		rawBoth.median(accepted), rawBoth.median(finalized), stackBoth.median(accepted), stackBoth.median(finalized))
	for _, s := range sides {
		cost := s.median(func(r rates) float64 { return r.cost.total().Seconds() })
		if cost > 0 {
			fmt.Fprintf(out, "median   %-22s %.2f ms of CPU time an order: at most %.0f orders/s on %d CPUs\n",
				s.name, 1000*cost, float64(runtime.NumCPU())/cost, runtime.NumCPU())
		}
	}
	fmt.Fprintf(out, "ratio function=%.2f\n", ratios(stackAlone, stackBare, accepted))
	fmt.Fprintf(out, "ratio accepted=%.2f\n", ratios(stackAlone, rawAlone, accepted))
	fmt.Fprintf(out, "ratio both=%.2f\n", ratios(stackBoth, rawBoth, done))
}

// ratios returns the median, over the rounds, of the ratio of the two sides' rates.
func ratios(a, b *side, of func(rates) float64) float64 {
	var all []float64
	for i := range min(len(a.seen), len(b.seen)) {
		all = append(all, ratio(of(a.seen[i]), of(b.seen[i])))
	}
	return median(all)
}

func ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

func (s *side) median(of func(rates) float64) float64 {
	values := make([]float64, len(s.seen))
	for i, r := range s.seen {
		values[i] = of(r)
	}
	return median(values)
}

// median returns the middle value or the mean of the two middle values; 0 without values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
