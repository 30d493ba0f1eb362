package operator

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"flashsale/infra/kit/eventwebhook"
	"flashsale/infra/ops/cli"
	"flashsale/shared/eventbus"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// eventTypes are those of all events.
func eventTypes() (names []string) {
	for _, e := range eventwebhook.Examples(time.Now()) {
		names = append(names, string(e.Type))
	}
	return names
}

// sendEvents sends events to a receiver as the forwarder does, each once, and says what it answers: those of an order,
// or else a test event of each type.
func sendEvents(ctx context.Context, p *target, o options, out *terminal) error {
	secrets := os.Getenv("EVENTS_SECRET")
	if strings.HasPrefix(o["to"], "http://") {
		secrets = cmp.Or(secrets, eventwebhook.LocalSecret)
	}
	switch known := eventTypes(); {
	case o["to"] == "":
		return cli.Usagef("give the address of the receiver, --to https://…")
	case secrets == "":
		return cli.Usagef("the variable EVENTS_SECRET must have the secret that signs, and that the receiver knows")
	case o["type"] != "" && !slices.Contains(known, o["type"]):
		return cli.Usagef("--type is %s, not %q", strings.Join(known, ", "), o["type"])
	}
	receiver, err := eventwebhook.NewReceiver(o["to"], secrets)
	if err != nil {
		return cli.Usagef("%v", err)
	}
	events := eventwebhook.Examples(time.Now())
	if given, ofOrder := o["order"]; ofOrder {
		if events, err = p.eventsOf(ctx, given); err != nil {
			return err
		}
	}
	if o["type"] != "" {
		var has []string
		events = slices.DeleteFunc(events, func(e sale.Event) bool {
			has = append(has, string(e.Type))
			return string(e.Type) != o["type"]
		})
		if len(events) == 0 {
			return noSuch("there is no %s of the order %s, only %s", o["type"], o["order"], strings.Join(has, ", "))
		}
	}
	taken := 0
	for _, e := range events {
		message, err := eventwebhook.New(string(e.Type), eventbus.Detail(e))
		if err != nil {
			return err
		}
		answer := receiver.Send(ctx, message, time.Now())
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if answer.IsAccepted() {
			taken++
		}
		fmt.Fprintf(out, "%s: %s\n", e.ID, answer)
	}
	fmt.Fprintf(out, "%d of %d events were taken by %s\n", taken, len(events), receiver.Host)
	if taken < len(events) {
		return cli.Bad(fmt.Errorf("NOT TAKEN: %d events; only an answer of 200 to 299 within %v takes one", len(events)-taken, eventwebhook.Timeout))
	}
	return nil
}

// eventsOf are the events of an order, as its table has them.
func (p *target) eventsOf(ctx context.Context, given string) ([]sale.Event, error) {
	id, err := orderid.Parse(given)
	if err != nil {
		return nil, cli.Usagef("%q is not an order id; %s lists them", given, p.flashsale("order list --sale moutai"))
	}
	book, err := p.ledger(ctx)
	if err != nil {
		return nil, err
	}
	events, err := book.OrderEvents(ctx, id)
	if sale.CodeOf(err) == sale.OrderNotFound {
		err = noSuch("there is no order %s", given)
	}
	return events, err
}
