package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"

	"flashsale/infra/ops/cli"
	"flashsale/shared/sale"
)

const (
	// publishers calls with publishAtOnce events each are made at a time.
	publishers, publishAtOnce = 4, 10
	// maxRefused bounds the refused events: so many mean that the bus takes none.
	maxRefused = 200
	maxListed  = 50
)

// republish publishes every event of a sale again, as the table has it, or with --unknown the
// refunds due of unknown orders. Each event has the id and the content that it had before,
// but for the user of who was erased since, so those who have it ignore it (P26).
func republish(ctx context.Context, p *target, o options, out *terminal) error {
	saleID := o["sale"]
	if o.has("unknown") == (saleID != "") {
		return cli.Usagef("give one of a sale and --unknown, which means the refunds due of unknown orders")
	}
	book, err := p.ledger(ctx)
	if err != nil {
		return err
	}
	bus, busName, err := p.events(ctx, o["bus"])
	if err != nil {
		return err
	}
	if saleID != "" { // that none of its events was published would be no answer
		if _, err := book.Existing(ctx, saleID); err != nil {
			return err
		}
	}
	r := republishing{bus: bus.Publish, out: out}
	var clear func()
	r.show, clear = out.progress("events")
	publish := func(events []sale.Event) error { return r.publish(ctx, events) }
	if o.has("dry-run") {
		publish = func(events []sale.Event) error {
			r.events += int64(len(events))
			r.show(r.events, -1)
			return nil
		}
	}
	err = book.Events(ctx, saleID, publish)
	clear()
	if o.has("dry-run") {
		if err == nil {
			fmt.Fprintf(out, "%d events of %s would be published to %s; nothing was published\n", r.events, cmp.Or(saleID, "unknown orders"), busName)
		}
		return err
	}
	return r.end(saleID, busName, err)
}

type republishing struct {
	bus  func(ctx context.Context, events []sale.Event) []error // it repeats its calls itself
	out  io.Writer
	show func(done, about int64)
	// events is how many were read; those that are neither published nor refused were not tried
	// to the end.
	events, published, refused int64
}

var errRefused = fmt.Errorf("the bus refused %d events", maxRefused)

// publish publishes a page of events; so the memory does not grow with the sale.
func (r *republishing) publish(ctx context.Context, events []sale.Event) error {
	for part := range slices.Chunk(events, maxRefused) {
		r.events += int64(len(part))
		for i, err := range r.publishOnce(ctx, part) {
			if err == nil {
				r.published++
			} else if ctx.Err() != nil {
				continue // nobody refused it
			} else if r.refused++; r.refused <= maxListed {
				fmt.Fprintf(r.out, "  %s: %v\n", part[i].ID, cli.OneLine(err))
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r.show(r.events, -1)
		if r.refused >= maxRefused {
			return errRefused
		}
	}
	return nil
}

func (r *republishing) publishOnce(ctx context.Context, events []sale.Event) []error {
	errs := make([]error, len(events))
	var group errgroup.Group
	group.SetLimit(publishers)
	for from := 0; from < len(events); from += publishAtOnce {
		to := min(from+publishAtOnce, len(events))
		group.Go(func() error {
			copy(errs[from:to], r.bus(ctx, events[from:to]))
			return nil
		})
	}
	_ = group.Wait() // every error is in errs
	return errs
}

// end says what was published; err is that of reading the table.
func (r *republishing) end(saleID, bus string, err error) error {
	if more := r.refused - maxListed; more > 0 {
		fmt.Fprintf(r.out, "  and %d more\n", more)
	}
	what := "sale " + saleID
	if saleID == "" {
		what = "unknown orders"
	}
	fmt.Fprintf(r.out, "%d of %d events of %s were published to %s\n", r.published, r.events, what, bus)
	switch {
	case err != nil && !errors.Is(err, errRefused):
		return fmt.Errorf("%w; repeat the command: who has an event ignores it", err)
	case err != nil:
		return cli.Bad(fmt.Errorf("NOT PUBLISHED: the bus refused %d events, so the others were not tried; repeat the command when it takes them", r.refused))
	case r.refused > 0:
		return cli.Bad(fmt.Errorf("NOT PUBLISHED: the bus refused %d events", r.refused))
	}
	if saleID != "" {
		fmt.Fprintln(r.out, "SaleSoldOut is not among them, because the table does not keep it")
	}
	return nil
}
