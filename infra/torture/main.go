// Command torture kills the system anywhere while it sells: single function
// processes, functions exactly at their answer, the DynamoDB engine, the
// queues, the whole stack, always with kill -9 and at random moments. What it
// killed it starts again, with the same data on the same ports. Buyers go on
// as honest clients would: whoever was not answered repeats the same request.
// When all is quiet it reads the table and holds it against everything that
// anybody was told. `make torture` runs it.
//
// It sees the system from outside only: its HTTP answers, the items in its table,
// its processes. It uses none of the code that it checks.
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

	"flashsale/infra/arguments"
)

func main() {
	var c config
	f := flag.NewFlagSet("torture", flag.ContinueOnError)
	minutes := f.Float64("minutes", 0, "begin no round after this many minutes (0: no limit)")
	f.IntVar(&c.rounds, "rounds", 0, "rounds to run (0: 3, or as many as -minutes allows)")
	f.Uint64Var(&c.seed, "seed", rand.Uint64(), "what the choices of buyers and killers follow from")
	f.StringVar(&c.root, "root", ".", "the project's folder, with .build in it")
	f.IntVar(&c.sales, "sales", 3, "sales at a time")
	f.IntVar(&c.buyers, "buyers", 200, "buyers of each sale")
	f.DurationVar(&c.chaos, "chaos", 12*time.Second, "how long a round kills")
	f.Float64Var(&c.killAtResponse, "kill-at-response", 0.03, "share of answers at which the function dies")
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
		stop() // os.Exit runs nothing deferred
		os.Exit(1)
	}
}
