package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"flashsale/infra/ops/cli"
	requests "flashsale/shared/change"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
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
	again := of.by != nil && of.by.ID == o["id"]
	would := fmt.Sprintf("it would be %s. %s could never order again in this sale", of.becomes(unit), of.User)
	if again {
		would = "this cancellation was made at " + instant(of.by.At) + ", and nothing more would change"
	}
	switch why := of.refusal(); {
	case again && of.by.Unit != unit:
		return cli.Bad(errors.New("NOT CANCELLED: the change id was used for another change"))
	case why != nil && !again:
		p.notef("%v", of)
		return cli.Bad(fmt.Errorf("NOT CANCELLED: %s", why.Detail))
	case o.has("dry-run") && out.is(cli.JSON):
		return cli.WriteJSON(out, map[string]string{"saleId": of.SaleID, "is": of.String(), "would": would})
	case o.has("dry-run"):
		fmt.Fprintf(out, "%v; %s; nothing was changed\n", of, would)
		return nil
	}
	o["sale"] = of.SaleID
	return change{
		action: "cancel", done: "CANCELLED",
		members: func(options) (map[string]any, error) {
			return map[string]any{"orderId": o["order"], "expected": of.saw, "unit": unit}, nil
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
			if text += ": it is " + of.becomes(c.Unit); of.saw == sale.Paid && of.RefundedAt.IsZero() {
				text += "; give it back at the provider, then " + p.flashsale("refund mark", c.Payment, "--sale", c.SaleID)
			}
			return text, nil
		},
	}.run(ctx, p, o, out)
}

// lookedAt is an order as it is before it is cancelled.
type lookedAt struct {
	sale.Claim
	by   *sale.CancelledOrder // nil if no operator has cancelled it
	saw  sale.ClaimState      // what its cancellation says
	sale sale.Sale
}

// order is the order of the id that is given, in the sale that is given, if one is.
func (p *target) order(ctx context.Context, o options) (sale.Order, *ledger.Ledger, error) {
	id, err := orderid.Parse(o["order"])
	if err != nil {
		return sale.Order{}, nil, cli.Usagef("%q is not an order id; %s lists them", o["order"], p.flashsale("order list --sale moutai"))
	}
	book, err := p.ledger(ctx)
	if err != nil {
		return sale.Order{}, nil, err
	}
	found, err := book.Order(ctx, id)
	if err == nil && o["sale"] != "" && o["sale"] != found.SaleID {
		return found, book, noSuch("there is no order %s in sale %s", o["order"], o["sale"])
	} else if sale.CodeOf(err) == sale.OrderNotFound {
		err = noSuch("there is no order %s", o["order"])
	}
	return found, book, err
}

func (p *target) lookUp(ctx context.Context, o options) (*lookedAt, error) {
	found, book, err := p.order(ctx, o)
	if err != nil {
		return nil, err
	}
	of := &lookedAt{}
	if of.sale, err = book.Sale(ctx, found.SaleID); err == nil {
		of.Claim, err = book.Claim(ctx, found.SaleID, found.User)
	}
	if err == nil {
		of.by, err = book.Cancelled(ctx, of.Claim)
	}
	if of.saw = of.State(); of.by != nil {
		of.saw = of.by.Expected // the same request again
	}
	return of, err
}

// refusal is why the order is not cancelled, nil if it may be.
func (of *lookedAt) refusal() *sale.Error {
	switch {
	case of.by != nil:
		return sale.RefuseCancelled(*of.by, &of.Claim)
	case of.sale.IsRecalled():
		return sale.RefuseRecalled()
	case of.saw != sale.Confirmed && of.saw != sale.Paid:
		return sale.RefuseState(&of.Claim)
	}
	return nil
}

func (of *lookedAt) String() string {
	text := fmt.Sprintf("order %s of %s in sale %s is %s", orderid.String(of.OrderID), of.User, of.SaleID, stateOf(of.sale, of.Claim))
	switch {
	case of.Payment != "":
		text += fmt.Sprintf(": %s (%s)", money(of.Amount, of.Currency), of.Payment)
	case of.sale.Price > 0:
		text += ": " + money(of.sale.Price, of.sale.Currency)
		if stateOf(of.sale, of.Claim) == sale.Confirmed {
			text += ", to be paid by " + instant(of.sale.PayBy(of.OrderID))
		}
	}
	return text
}

// becomes says what the order is once it is cancelled.
func (of *lookedAt) becomes(unit sale.Unit) string {
	text := map[sale.Unit]string{sale.UnitBack: ", its unit in stock again", sale.UnitKept: ", its unit kept from everybody"}[unit]
	switch {
	case of.saw != sale.Paid:
		return "released" + text
	case !of.RefundedAt.IsZero():
		return "over" + text + ", its payment paid back at " + instant(of.RefundedAt)
	}
	return "over" + text + ", its payment of " + money(of.Amount, of.Currency) + " (" + of.Payment + ") a refund due"
}
