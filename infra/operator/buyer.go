package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"flashsale/shared/httpapi"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// buyer tells what happened to one buyer's order, from the table alone.
func buyer(ctx context.Context, p place, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("buyer", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	saleID := flags.String("sale", "", "")
	user := flags.String("user", "", "")
	if err := flags.Parse(args); err != nil || !sale.ValidID(*saleID) || !sale.ValidUser(*user) {
		return fmt.Errorf("buyer needs -sale ID -user ID\n%s", usage)
	}
	book, err := p.ledger(ctx)
	if err != nil {
		return err
	}
	c, err := book.Claim(ctx, *saleID, *user)
	if sale.CodeOf(err) == sale.OrderNotFound {
		fmt.Fprintf(out, "%s holds nothing in sale %s: no purchase was ever accepted\n", *user, *saleID)
		return nil
	}
	if err != nil {
		return err
	}
	event := func(at time.Time, what string) { fmt.Fprintf(out, "%s  %s\n", httpapi.Time(at), what) }
	event(c.AcceptedAt, fmt.Sprintf("accepted: claim %s, one unit of shard %d", c.ID, c.Shard))
	if !c.ResentAt.IsZero() {
		event(c.ResentAt, "its order message was sent again (the last time)")
	}
	if c.State() == sale.Pending {
		fmt.Fprintf(out, "%-24s  pending for %v: reconcile sends its message again, or the buyer by asking\n",
			"now", time.Since(c.AcceptedAt).Round(time.Second))
		return nil
	}
	event(orderid.Time(c.OrderID), "confirmed: order "+orderid.String(c.OrderID))
	if _, err := book.Order(ctx, c.OrderID); err != nil {
		if sale.CodeOf(err) != sale.OrderNotFound {
			return err
		}
		fmt.Fprintf(out, "%-24s  its order item is missing: reconcile sends its message again\n", "now")
	}
	return nil
}
