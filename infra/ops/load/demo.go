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

	"golang.org/x/sync/errgroup"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/rush"
	"flashsale/infra/kit/verdict"
	"flashsale/infra/local/launch"
	"flashsale/infra/ops/cli"
	"flashsale/infra/ops/place"
)

const (
	recountTime = time.Minute
	// The small sale: of its buyers most pay, one cancels, and the rest do not pay in time.
	unpaidStock, unpaidShards = fates, 3
	willPay                   = cancels
	returned                  = fates - cancels
	// lateBuyers come when the units are back: one more than there are units.
	lateBuyers = returned + 1
	// lateTries is how often a late buyer asks for a unit that should be there.
	lateTries = 5
	pollEvery = time.Second
)

// show is one demonstration.
type show struct {
	options
	at          target
	out, stderr io.Writer
}

// saleReceipt is what was checked of one sale.
type saleReceipt struct {
	saleID string
	lines  []line
}

// demonstrate sends a crowd that all comes at once and, if asked to, the buyers of a small sale
// who must pay. It prints a receipt for each sale. An error means that a step failed, not that
// a promise is broken.
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
	receipts, err := o.demonstrateOn(ctx, visits, stdout, stderr)
	broken = slices.ContainsFunc(receipts, func(r saleReceipt) bool { return !allHold(r.lines) })
	if own != nil {
		own.end(stderr, (broken || err != nil) && ctx.Err() == nil)
	}
	if err != nil {
		return false, err
	}
	for _, r := range receipts {
		if !allHold(r.lines) {
			fmt.Fprintf(stderr, "\nThe sale %s is kept for inspection.\n", r.saleID)
		}
		printReceipt(stdout, r.saleID, r.lines)
	}
	return broken, nil
}

// findStack finds the running stack or starts one for the demonstration.
func (o *options) findStack(ctx context.Context, stderr io.Writer) (*stack, error) {
	found, err := place.Find(ctx, place.Wanted{URL: o.where.URL, Transport: transport(1, false)})
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

// demonstrateOn plays the rush, and while it lasts the time to pay of the small sale.
func (o options) demonstrateOn(ctx context.Context, visits []visit, stdout, stderr io.Writer) ([]saleReceipt, error) {
	where, err := prepare(ctx, o, visits, stderr)
	if err != nil {
		return nil, err
	}
	defer where.system.Close()
	d := show{o, where, stdout, stderr}
	fmt.Fprintf(d.out, "sale %s is open: %s bottles on %s stock shards\n", d.at.sale, cli.Thousands(d.stock), cli.Thousands(min(d.shards, d.stock)))
	plays := []func(context.Context) (saleReceipt, error){func(ctx context.Context) (saleReceipt, error) { return d.rushes(ctx, visits) }}
	if o.payments {
		plays = append(plays, d.sellsAgain)
	}
	receipts := make([]saleReceipt, len(plays))
	group, ctx := errgroup.WithContext(ctx)
	for i, play := range plays {
		group.Go(func() (err error) {
			receipts[i], err = play(ctx)
			return err
		})
	}
	return receipts, group.Wait()
}

// rushes sends the crowd and checks the books.
func (d *show) rushes(ctx context.Context, visits []visit) (r saleReceipt, err error) {
	r.saleID = d.at.sale
	b := d.newBuyers(d.at.system, r.saleID, visits, verdict.Sale{Units: int64(d.stock), Shards: min(d.shards, d.stock), Own: true, Steady: true})
	if err := b.come(ctx, d.drain, d.stderr, "buyers who know their outcome"); err != nil {
		return r, err
	}
	printRush(d.out, b.Crowd, b.tally)
	sale, receipt, err := d.recount(ctx, r.saleID)
	if err == nil {
		r.lines = audit(evidence{
			buyers: len(visits), history: b.History, tally: b.tally, books: sale, findings: receipt.Findings, readAt: time.Now(),
		})
	}
	return r, err
}

// recount reads a sale's items, which must not change any more.
func (d *show) recount(ctx context.Context, saleID string) (*books.Sale, *books.Receipt, error) {
	ctx, cancel := context.WithTimeout(ctx, recountTime)
	defer cancel()
	all, err := books.Read(ctx, launch.Table(d.at.system.DynamoDB), d.at.system.Table)
	if err != nil {
		return nil, nil, err
	}
	receipt, err := all.Recount(ctx, saleID, books.Options{Overdue: books.AtOnce})
	if err != nil {
		return nil, nil, err
	}
	return all.Sale(saleID), receipt, nil
}

// sellsAgain sells the small sale, whose buyers must pay: a third of its units come back and
// are sold again.
func (d *show) sellsAgain(ctx context.Context) (saleReceipt, error) {
	small := saleReceipt{saleID: newSaleID("demo-paid")}
	now := time.Now()
	if err := d.at.system.Seed(ctx, client.Sale{
		ID: small.saleID, Name: "Bottles to be paid for within a minute", Stock: unpaidStock, Shards: unpaidShards,
		OpensAt: now.Add(-time.Second), ClosesAt: now.Add(saleTime), PayWithin: payWithin,
	}); err != nil {
		return small, err
	}
	visits := make([]visit, unpaidStock+lateBuyers)
	for i := range visits {
		visits[i].Buyer = rush.Buyer{User: userName(i), Clicks: 1}
	}
	if err := fetchTokens(ctx, d.at.system.Client, visits, d.stderr); err != nil {
		return small, err
	}
	fmt.Fprintf(d.out, "sale %s is open: of %d buyers %d will pay, one will cancel and %d will not pay within %.0f s\n",
		small.saleID, unpaidStock, willPay, returned-1, payWithin.Seconds())
	b := d.newBuyers(d.at.system, small.saleID, visits, verdict.Sale{Units: unpaidStock, Shards: unpaidShards, Own: true, AsksForPayment: true, Restocked: true})
	b.payer = localPayer(d.at.system.Client)
	b.release = func(ctx context.Context) error {
		for {
			// While its schedule runs it, it may be throttled.
			err := d.at.system.Ask(ctx, client.ReleaseFunction, map[string]string{"saleId": small.saleID}, nil)
			if err == nil || !rush.WaitUntil(ctx, time.Now().Add(pollEvery)) {
				return err
			}
		}
	}
	limited, cancel := context.WithTimeout(ctx, d.drain)
	defer cancel()
	if err := b.sellAgain(limited); err != nil {
		return small, err
	}
	sale, receipt, err := d.recount(ctx, small.saleID)
	if err != nil {
		return small, err
	}
	small.lines = auditPayments(b.History, sale, receipt)
	return small, nil
}

// sellAgain sends the first buyers, who settle their orders, and then the late ones: again and
// again those who get "sold out", which may be two seconds old.
func (b *buyers) sellAgain(ctx context.Context) error {
	all := b.Crowd
	b.Crowd = all[:unpaidStock]
	b.Run(ctx, func() {})
	for range lateTries {
		if err := b.release(ctx); err != nil {
			return err
		}
		if !rush.WaitUntil(ctx, time.Now().Add(pollEvery)) {
			return ctx.Err()
		}
		b.Crowd = slices.DeleteFunc(slices.Clone(all[unpaidStock:]), func(late rush.Buyer) bool { return b.History.Holds(late.User) })
		if len(b.Crowd) == lateBuyers-returned {
			break
		}
		b.Run(ctx, func() {})
	}
	return ctx.Err()
}
