// Command torture kills parts of the system during a sale: single function processes,
// functions exactly at their answer, the DynamoDB engine, the queues, the whole stack,
// always with kill -9 and at random moments. It restarts what it killed with the same table
// and ports; queues come back empty, so a round lasts until reconcile has sent again what was
// lost in them. Buyers behave like well-behaved clients: without an answer they repeat the same
// request. In one sale of each round they must pay, which most of them do, by the signed
// webhooks of both providers. When all orders are done it compares the table with all answers.
// `make torture` runs it.
//
// It uses only the system's HTTP answers, the items in its table and its processes, and none
// of the code that it checks, except for ReleaseFunction with another clock: see package ahead.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"flashsale/infra/kit/arguments"
)

func main() {
	c := config{root: ".", release: ".build/host/ahead/ReleaseFunction/bootstrap", sales: 3, buyers: 200, chaos: 12 * time.Second, killAtResponse: 0.03}
	f := flag.NewFlagSet("torture", flag.ContinueOnError)
	minutes := f.Float64("minutes", 0, "start no round after this many minutes (0: no limit)")
	f.IntVar(&c.rounds, "rounds", 0, "number of rounds (0: 3, or as many as -minutes allows)")
	f.Uint64Var(&c.seed, "seed", rand.Uint64(), "seed of the random choices")
	if err := arguments.Parse(f, os.Args[1:]); errors.Is(err, flag.ErrHelp) {
		return
	} else if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(2)
	}
	c.limit = time.Duration(*minutes * float64(time.Minute))
	if c.rounds == 0 && c.limit == 0 {
		c.rounds = 3
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	sum, err := run(ctx, c, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
	}
	fmt.Println(sum)
	if err != nil || sum.violations > 0 {
		stop() // os.Exit does not run deferred calls
		os.Exit(1)
	}
}
