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
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	var c config
	minutes := flag.Float64("minutes", 0, "begin no round after this many minutes (0: no limit)")
	flag.IntVar(&c.rounds, "rounds", 0, "rounds to run (0: 3, or as many as -minutes allows)")
	flag.Uint64Var(&c.seed, "seed", rand.Uint64(), "what the choices of buyers and killers follow from")
	flag.StringVar(&c.root, "root", ".", "the project's folder, with .build in it")
	flag.IntVar(&c.sales, "sales", 3, "sales at a time")
	flag.IntVar(&c.buyers, "buyers", 200, "buyers of each sale")
	flag.DurationVar(&c.chaos, "chaos", 12*time.Second, "how long a round kills")
	flag.Float64Var(&c.killAtResponse, "kill-at-response", 0.03, "share of answers at which the function dies")
	flag.Parse()
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
