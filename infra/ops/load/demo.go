package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/verdict"
	"flashsale/infra/local/launch"
	"flashsale/infra/ops/cli"
	"flashsale/infra/ops/target"
)

const recountTime = time.Minute

// demonstrate sends a crowd that all comes at once, and prints a receipt of the sale. An error means that a step
// failed, not that a promise is broken.
func demonstrate(ctx context.Context, o options, stdout, stderr io.Writer) (broken bool, err error) {
	visits, err := o.plan()
	if err != nil {
		return false, err
	}
	fmt.Fprintf(stdout, "%s buyers want one of %s bottles each; each clicks 1 to %d times; at most %d requests in flight (--seed %d repeats this crowd)\n",
		cli.Thousands(o.buyers), cli.Thousands(o.stock), o.clicks, o.inflight, o.seed)
	own, err := o.findStack(ctx, stderr)
	if err != nil {
		return false, err
	}
	saleID, lines, err := o.demonstrateOn(ctx, visits, stdout, stderr)
	broken = slices.ContainsFunc(lines, func(l line) bool { return len(l.broken) > 0 })
	if own != nil {
		own.end(stderr, (broken || err != nil) && ctx.Err() == nil)
	}
	if err != nil {
		return false, err
	}
	if broken {
		fmt.Fprintf(stderr, "\nThe sale %s is kept for inspection.\n", saleID)
	}
	printReceipt(stdout, saleID, lines)
	return broken, nil
}

// findStack finds the running stack or starts one for the demonstration.
func (o *options) findStack(ctx context.Context, stderr io.Writer) (*stack, error) {
	found, err := target.Find(ctx, target.Wanted{URL: o.where.URL, Transport: transport(1, false)})
	switch {
	case err == nil:
		found.Close()
		fmt.Fprintf(stderr, "using the running stack at %s\n", found.API)
		return nil, nil
	case ctx.Err() != nil || !errors.Is(err, client.ErrNoSystem):
		return nil, err
	case o.local == "":
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find this program's path: %w", err)
		}
		o.local = filepath.Join(filepath.Dir(self), "..", "host", "local")
	}
	if _, err := os.Stat(o.local); err != nil {
		return nil, fmt.Errorf("no stack answers at %s, and there is no program %s to start one: clone the project, and `make run` in it starts one", o.where.URL, o.local)
	}
	fmt.Fprintln(stderr, "no stack is running: starting one for this demonstration")
	own, err := startStack(ctx, o.local, stderr)
	if err == nil {
		o.where.URL = own.API
	}
	return own, err
}

// demonstrateOn sends the crowd and checks the books.
func (o options) demonstrateOn(ctx context.Context, visits []visit, stdout, stderr io.Writer) (saleID string, lines []line, err error) {
	at, err := prepare(ctx, o, visits, stderr)
	if err != nil {
		return "", nil, err
	}
	defer at.system.Close()
	fmt.Fprintf(stdout, "sale %s is open: %s bottles on %s stock shards\n", at.sale, cli.Thousands(o.stock), cli.Thousands(min(o.shards, o.stock)))
	b := o.newBuyers(at.system, at.sale, visits, verdict.Sale{Units: int64(o.stock), Shards: min(o.shards, o.stock), Steady: true})
	if err := b.come(ctx, o.drain, stderr, "buyers who know their outcome"); err != nil {
		return at.sale, nil, err
	}
	printRush(stdout, b.Crowd, b.tally)
	sale, receipt, err := at.recount(ctx)
	if err == nil {
		lines = audit(evidence{
			buyers: len(visits), history: b.History, tally: b.tally, books: sale, findings: receipt.Findings, readAt: time.Now(),
		})
	}
	return at.sale, lines, err
}

// recount reads the sale's items, which must not change any more.
func (t trial) recount(ctx context.Context) (*books.Sale, *books.Receipt, error) {
	ctx, cancel := context.WithTimeout(ctx, recountTime)
	defer cancel()
	all, err := books.Read(ctx, launch.Table(t.system.DynamoDB), t.system.Table)
	if err != nil {
		return nil, nil, err
	}
	receipt, err := all.Recount(ctx, t.sale, books.Options{Overdue: books.AtOnce})
	if err != nil {
		return nil, nil, err
	}
	return all.Sale(t.sale), receipt, nil
}
