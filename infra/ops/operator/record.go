package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"flashsale/infra/kit/client/webhook"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// record records a payment that an operator sees at its provider and whose webhook never
// came, as that webhook would have been. Without -go it only shows what the payment is for,
// because its first record decides for ever.
func record(ctx context.Context, p *place, o options, out io.Writer) error {
	payment, err := paymentOf(o)
	if err != nil {
		return err
	}
	book, err := p.ledger(ctx)
	if err != nil {
		return err
	}
	if !o.has("go") {
		return showPayment(ctx, book, payment, out)
	}
	return recordPayment(ctx, book, payment, out)
}

// paymentOf reads the payment as its provider names it.
func paymentOf(o options) (sale.Payment, error) {
	p := sale.Payment{Provider: o["provider"], Reference: o["payment"], SaleID: o["sale"], Currency: strings.ToUpper(o["currency"])}
	var err error
	switch {
	case !slices.Contains(webhook.Providers, p.Provider):
		// Under another name it would be another payment than that of its webhook.
		return p, fmt.Errorf("%q is not a provider: PROVIDER is %s", p.Provider, strings.Join(webhook.Providers, " or "))
	case p.Provider == webhook.Stripe && !strings.HasPrefix(p.Reference, "pi_"):
		return p, fmt.Errorf("%q is not a payment of Stripe: PAYMENT is its payment intent, pi_…, not the session or the charge", p.Reference)
	}
	if p.OrderID, err = orderid.Parse(o["order"]); err != nil {
		return p, fmt.Errorf("%q is not an order id: ORDER is the number that make orders lists", o["order"])
	}
	if p.Amount, err = strconv.ParseInt(o["amount"], 10, 64); err != nil {
		return p, fmt.Errorf("%q is not an amount: AMOUNT is a whole number of minor units, 89900 for 899.00", o["amount"])
	}
	return p, p.Check()
}

// showPayment says what the payment is for, as the table has it.
func showPayment(ctx context.Context, book *ledger.Ledger, p sale.Payment, out io.Writer) error {
	recorded, err := book.Recorded(ctx, p)
	if err != nil {
		return errors.New(oneLine(err))
	}
	o, err := book.Order(ctx, p.OrderID)
	switch {
	case sale.CodeOf(err) == sale.OrderNotFound:
		fmt.Fprintf(out, "there is no order %s\n", orderid.String(p.OrderID))
	case err != nil:
		return errors.New(oneLine(err))
	default:
		s, noSale := book.Existing(ctx, o.SaleID)
		c, noClaim := book.Claim(ctx, o.SaleID, o.User)
		if err := cmp.Or(noSale, noClaim); err != nil {
			return errors.New(oneLine(err))
		}
		price := "a sale without a price"
		if s.Price != 0 {
			price = fmt.Sprintf("its price is %d %s", s.Price, s.Currency)
		}
		fmt.Fprintf(out, "order %s is of %s in sale %s: %s; %s\n", orderid.String(o.ID), o.User, o.SaleID, c.State(), price)
	}
	if recorded {
		fmt.Fprintf(out, "%s is recorded already: recording it again changes nothing\n", p.ID())
		return nil
	}
	fmt.Fprintf(out, "nothing was recorded: GO=1 records %d %s of %s for order %s of sale %s, for ever\n", p.Amount, p.Currency, p.ID(), orderid.String(p.OrderID), p.SaleID)
	return nil
}

// recordPayment records the payment and says what a provider would be told.
func recordPayment(ctx context.Context, book *ledger.Ledger, p sale.Payment, out io.Writer) error {
	s, err := book.Pay(ctx, p)
	if err != nil {
		return fmt.Errorf("%s; repeat the command: it records a payment once", oneLine(err))
	}
	outcome := "paid"
	if s.Refund != nil {
		outcome = "refund due, because: " + string(s.Refund.Reason)
	}
	when := "recorded now"
	if !s.New {
		when = "recorded before, and nothing changed now"
	}
	fmt.Fprintf(out, "%s: %s; %s\n", p.ID(), outcome, when)
	if s.Contradicts {
		fmt.Fprintln(out, "it was recorded for another order or amount, and the first report decides")
	}
	return nil
}
