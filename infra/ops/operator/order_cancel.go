package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"flashsale/infra/ops/cli"
	requests "flashsale/shared/change"
	"flashsale/shared/sale"
)

// cancelOrder cancels one order in the state in which it is shown first, and in no other.
func cancelOrder(ctx context.Context, p *target, o options, out *terminal) error {
	unit := sale.Unit(cmp.Or(o["unit"], string(sale.UnitBack)))
	if unit != sale.UnitBack && unit != sale.UnitKept {
		return cli.Usagef("--unit is %q; it must be back or kept", unit)
	}
	of, err := p.lookUp(ctx, o)
	if err != nil {
		return err
	}
	again := of.cancelled != nil && of.cancelled.field("changeId") == o["id"]
	would := fmt.Sprintf("it would be %s. %s could never order again in this sale", of.becomes(unit), of.field("user"))
	if again {
		would = "this cancellation was made at " + instant(when(of.cancelled.field("at"))) + ", and nothing more would change"
	}
	switch why := of.refusal(); {
	case again && of.cancelled.field("unit") != string(unit):
		return cli.Bad(errors.New("NOT CANCELLED: the change id was used for another change"))
	case why != nil && !again:
		p.notef("%v", of)
		return cli.Bad(fmt.Errorf("NOT CANCELLED: %w", why))
	case o.has("dry-run") && out.is(cli.JSON):
		return cli.WriteJSON(out, map[string]string{"saleId": of.field("saleId"), "is": of.String(), "would": would})
	case o.has("dry-run"):
		fmt.Fprintf(out, "%v; %s; nothing was changed\n", of, would)
		return nil
	}
	o["sale"] = of.field("saleId")
	return change{
		action: "cancel", done: "CANCELLED",
		members: func(options) (map[string]any, error) {
			return map[string]any{"orderId": o["order"], "expected": of.expected, "unit": unit}, nil
		},
		confirm: func(context.Context, *target, options, *terminal) error {
			p.notef("%v", of)
			if again {
				return nil
			}
			return out.ask("If it is cancelled, " + would + ".\nCancel it?")
		},
		say: func(c requests.Answer, _ options, p *target) (string, error) {
			if c.OrderID != o["order"] || c.CancelledAt == "" {
				return "", errUnsaid
			}
			text := fmt.Sprintf("order %s was cancelled at %s", c.OrderID, instant(when(c.CancelledAt)))
			if !c.Applied {
				text += ", and nothing changed now"
			}
			text += ": it is " + of.becomes(c.Unit)
			if of.expected == sale.Paid && of.paidBack() == "" && of.ofPayment("disputed", "dispute-lost") == nil {
				text += "; give it back at the provider, then " + p.flashsale("refund mark", c.Payment, "--sale", c.SaleID)
				if _, known := sale.SendingRuleOf(c.Payment); known {
					text += ", or let the stack do it: " + p.flashsale("refund send", c.SaleID, "--payment", c.Payment)
				}
			}
			return text, nil
		},
	}.run(ctx, p, o, out)
}

// lookedAt is an order as it is before it is cancelled, and what its story says of it.
type lookedAt struct {
	story
	cancelled story // by an operator, or nil
	expected  sale.ClaimState
}

func (p *target) lookUp(ctx context.Context, o options) (*lookedAt, error) {
	answer, err := p.order(ctx, o["order"])
	if err != nil {
		return nil, err
	}
	of := &lookedAt{}
	if of.story, err = readStory(answer); err != nil {
		return nil, err
	}
	if o["sale"] != "" && o["sale"] != of.field("saleId") {
		return nil, noSuch("there is no order %s in sale %s", o["order"], o["sale"])
	}
	of.expected = sale.ClaimState(of.field("state"))
	if of.cancelled = of.line("cancelled"); of.cancelled != nil {
		of.expected = sale.ClaimState(of.cancelled.field("expected")) // the same request again
	}
	return of, nil
}

// state is the order's, or RECALLED.
func (of *lookedAt) state() sale.ClaimState {
	state := sale.ClaimState(of.field("state"))
	if of.line("recalled") != nil && (state == sale.Confirmed || state == sale.Paid) {
		return recalled
	}
	return state
}

// refusal is why the order is not cancelled, nil if it may be.
func (of *lookedAt) refusal() error {
	switch by := of.cancelled; {
	case by != nil:
		made := sale.CancelledOrder{At: when(by.field("at")), Author: sale.Author{Actor: by.field("by"), Note: by.field("note")}}
		return errors.New(sale.RefuseCancelled(made, nil).Detail)
	case of.line("recalled") != nil:
		return errors.New(sale.RefuseRecalled().Detail)
	case of.expected != sale.Confirmed && of.expected != sale.Paid:
		return errors.New(sale.RefuseState(of.expected, nil).Detail)
	}
	return nil
}

func (of *lookedAt) String() string {
	text := fmt.Sprintf("order %s of %s in sale %s is %s", of.field("orderId"), of.field("user"), of.field("saleId"), of.state())
	if of.field("currency") == "" {
		return text
	}
	text += ": " + of.amount("amount")
	if paid := of.line("paid"); paid != nil {
		text += " (" + paid.field("payment") + ")"
	} else if by := of.line("pay-by"); by != nil {
		text += ", to be paid by " + instant(when(by.field("at")))
	}
	return text
}

// paidBack is when the order's payment was paid back, "" if it was not.
func (of *lookedAt) paidBack() string {
	if done := of.ofPayment("refunded"); done != nil {
		return done.field("at")
	}
	return of.line("paid-back").field("at")
}

// ofPayment is a line of one of the kinds about the payment that has paid the order, nil if there is none.
func (of *lookedAt) ofPayment(kinds ...string) story {
	for _, l := range of.lines("lines") {
		if slices.Contains(kinds, l.field("kind")) && l.field("payment") == of.line("paid").field("payment") {
			return l
		}
	}
	return nil
}

// becomes says what the order is once it is cancelled.
func (of *lookedAt) becomes(unit sale.Unit) string {
	its := ", its unit "
	if n := of.field("units"); n != "" && n != "1" {
		its = ", its " + n + " units "
	}
	text := its + map[sale.Unit]string{sale.UnitBack: "in stock again", sale.UnitKept: "kept from everybody"}[unit]
	switch {
	case of.expected != sale.Paid:
		return "released" + text
	case of.paidBack() != "":
		return "over" + text + ", its payment paid back at " + instant(when(of.paidBack()))
	case of.ofPayment("dispute-lost") != nil:
		return "over" + text + ", its payment given back by a dispute that was lost"
	}
	text = "over" + text + ", its payment of " + of.amount("amount") + " (" + of.line("paid").field("payment") + ")"
	if part := of.ofPayment("refund-part"); part != nil {
		text += ", of which " + part.amount("back") + " is back,"
	}
	if of.ofPayment("disputed") != nil {
		return text + " a refund due that a dispute holds back until it is won"
	}
	return text + " a refund due"
}
