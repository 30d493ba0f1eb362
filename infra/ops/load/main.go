// Command load sends buyers to a running sale at a given rate and reports their results.
//
// It is an open loop: every buyer has an intended time, chosen before the run starts, and
// comes then, whatever happens to earlier buyers. Every latency is measured from the
// intended time, so that a stalled server shows in the latencies of all buyers who came
// during the stall. It uses HTTP only and does not read the table or the queue.
//
// With -demo it is the demonstration: a crowd that comes all at once rushes for a much smaller
// number of bottles, and the answers are compared with the recounted table. The recount reads
// the table's raw items and shares no code with the ledger, so that it cannot share the
// ledger's faults.
//
// With -rehearse it makes a trial sale, also on a stack on AWS, and prints what it cost there.
//
// It exits with 0 if every promise held, 1 if a client can see one broken or the books do
// not balance, 2 if it could not run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"flashsale/infra/kit/verdict"
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

func run(ctx context.Context, args []string, stdout, stderr io.Writer, terminal bool) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitFine
	case err != nil:
		fmt.Fprintf(stderr, "load: %v\n", err)
		return exitNotRun
	}
	return o.run(ctx, stdout, stderr, terminal)
}

func (o options) run(ctx context.Context, stdout, stderr io.Writer, terminal bool) int {
	work := measure
	if o.demo {
		work = demonstrate
	}
	broken, err := work(ctx, o, stdout, progress{stderr, terminal})
	switch {
	case err != nil:
		fmt.Fprintf(stderr, "load: %v\n", err)
		return exitNotRun
	case broken:
		return exitBroken
	}
	return exitFine
}

// measure does a whole run and reports whether anything is broken.
func measure(ctx context.Context, o options, stdout io.Writer, bar progress) (broken bool, err error) {
	visits, err := o.plan()
	if err != nil {
		return false, err
	}
	to, err := prepare(ctx, o, visits, bar)
	if err != nil {
		return false, err
	}
	defer to.system.Close()
	if o.rehearse {
		fmt.Fprintf(stdout, "rehearsal: sale %s of %d units on %d shards at %s\n", to.sale, to.stock, min(o.shards, to.stock), to.system.API)
	}
	fmt.Fprintf(stdout, "%d buyers in %v at %.0f/s (peak %.0f/s) to sale %s at %s (-seed %d)\n",
		len(visits), o.duration, o.rate, max(o.peak, o.rate), to.sale, to.system.API, o.seed)

	b := o.newBuyers(to.system, to.sale, visits, verdict.Sale{Units: int64(to.stock), Own: o.sale == "", AsksForPayment: o.payments})
	if o.payments {
		b.payer = localPayer(to.system.Client)
		o.drain += payWithin + releaseTime
	}
	if err := b.come(ctx, o.duration+o.drain, bar, "buyers"); err != nil {
		return false, errors.New("interrupted")
	}
	ended := time.Now()
	r := b.tally.report(fmt.Sprintf("%d buyers, sale %s", len(visits), to.sale), o.settings(to), b.History.Findings())
	books := o.receipt(ctx, to)
	r.Receipt, r.ReceiptMade = books.text, books.made
	r.Broken = len(r.Findings) > 0 || books.broken
	r.print(stdout)
	if err := r.write(o.report); err != nil {
		return r.Broken, err
	}
	fmt.Fprintf(stdout, "\nreport: %s\n", o.report)
	if o.rehearse {
		err = to.printBill(ctx, stdout, b.Start, ended, r.Accepted)
	}
	return r.Broken, err
}
