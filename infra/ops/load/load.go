// Package load sends buyers to a trial sale and reports their results, on AWS also what it cost: the command stack
// rehearse.
//
// It is an open loop: every buyer has an intended time, chosen before the run starts, and
// comes then, whatever happens to earlier buyers. Every latency is measured from the
// intended time, so that a stalled server shows in the latencies of all buyers who came
// during the stall. It uses HTTP only and does not read the table or the queue.
//
// It fails with a bad answer if a client can see a promise broken or the books do not balance.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"flashsale/infra/kit/verdict"
	"flashsale/infra/ops/cli"
)

// errBroken means that a promise was broken.
var errBroken = cli.Bad(errors.New("BROKEN: not every promise held"))

// run does the work of the command.
func (o *options) run(c *cobra.Command) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.tokensFile != "" {
		file, err := cli.Open(c, o.tokensFile)
		if err != nil {
			return err
		}
		defer file.Close()
		o.tokens = file
	}
	ctx := c.Context()
	broken, err := measure(ctx, *o, c.OutOrStdout(), c.ErrOrStderr())
	switch {
	case ctx.Err() != nil:
		return errors.New("no buyer comes any more, and a sale that was made for them closes by itself: repeat the command for another")
	case err != nil:
		return err
	case broken:
		return errBroken
	}
	return nil
}

// measure does a whole run and reports whether anything is broken.
func measure(ctx context.Context, o options, stdout, stderr io.Writer) (broken bool, err error) {
	visits, err := o.plan()
	if err != nil {
		return false, err
	}
	to, err := prepare(ctx, o, visits, stderr)
	if err != nil {
		return false, err
	}
	defer to.system.Close()
	fmt.Fprintf(stdout, "rehearsal: sale %s of %d units on %d shards at %s\n", to.sale, to.stock, min(o.shards, to.stock), to.system.API)
	fmt.Fprintf(stdout, "%d buyers in %v at %.0f/s (peak %.0f/s) to sale %s at %s (--seed %d)\n",
		len(visits), o.duration, o.rate, max(o.peak, o.rate), to.sale, to.system.API, o.seed)

	b := newBuyers(to.system, to.sale, visits, verdict.Sale{Units: int64(to.stock)})
	if err := b.come(ctx, o.duration+drain, stderr, "buyers"); err != nil {
		return false, err
	}
	ended := time.Now()
	r := b.tally.report(fmt.Sprintf("%d buyers, sale %s", len(visits), to.sale), o.settings(to), b.History.Findings())
	books := o.receipt(ctx, to, stderr)
	r.Receipt, r.ReceiptMade = books.text, books.made
	r.Broken = len(r.Findings) > 0 || books.broken
	r.print(stdout)
	if err := r.write(o.report); err != nil {
		return r.Broken, err
	}
	fmt.Fprintf(stdout, "\nreport: %s\n", o.report)
	return r.Broken, to.printBill(ctx, stdout, b.Start, ended, r.Accepted)
}

// step shows the progress of a step of that many parts. Call one after each part, from any goroutine, and
// end at the end.
func step(stderr io.Writer, what string, parts int) (one, end func()) {
	show, end := cli.Progress(stderr, what)
	var mu sync.Mutex
	done := int64(0)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		done++
		show(done, int64(parts))
	}, end
}
