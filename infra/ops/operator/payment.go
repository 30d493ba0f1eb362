package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"flashsale/infra/kit/client/webhook"
	"flashsale/infra/ops/cli"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// record records a payment that an operator sees at its provider and whose webhook never
// came, as that webhook would have been. It shows what the payment is for and asks first, because the first record
// of a payment decides permanently.
func record(ctx context.Context, p *target, o options, out *terminal) error {
	payment, err := paymentOf(p, o)
	if err != nil {
		return err
	}
	book, err := p.ledger(ctx)
	if err != nil {
		return err
	}
	to := io.Writer(out)
	if !o.has("dry-run") {
		to = out.command.ErrOrStderr()
	}
	recorded, err := showPayment(ctx, book, &payment, to)
	what := fmt.Sprintf("%d %s of %s for order %s of sale %s", payment.Amount, payment.Currency, payment.ID(), orderid.String(payment.OrderID), payment.SaleID)
	switch {
	case err != nil:
		return err
	case o.has("dry-run") && recorded:
		if other, err := book.RecordedOtherwise(ctx, payment); err != nil {
			return err
		} else if other {
			return errOtherwise
		}
		fmt.Fprintf(out, "%s is recorded already, and nothing would change\n", payment.ID())
		return nil
	case o.has("dry-run"):
		fmt.Fprintf(out, "%s would be recorded permanently; nothing was recorded\n", what)
		return nil
	}
	if err := out.ask(fmt.Sprintf("Record %s permanently?", what)); err != nil {
		return err
	}
	s, err := book.Pay(ctx, payment)
	if err != nil {
		return fmt.Errorf("%w; repeat the command: it records a payment once", err)
	}
	outcome, when := "paid", "recorded now"
	if s.Refund != nil {
		outcome = "refund due, because: " + string(s.Refund.Reason)
	}
	if !s.New {
		when = "recorded before, and nothing changed now"
	}
	fmt.Fprintf(out, "%s: %s; %s\n", payment.ID(), outcome, when)
	if s.Contradicts {
		return errOtherwise
	}
	return nil
}

var errOtherwise = cli.Bad(errors.New("NOT RECORDED: it was recorded for another order or amount, and the first report decides"))

// adyens are Adyen's references, which it calls of 16 characters. A capture or a refund has one, too.
var adyens = regexp.MustCompile(`^[0-9A-Z]{16}$`)

func paymentOf(where *target, o options) (sale.Payment, error) {
	p := sale.Payment{Provider: o["provider"], Reference: o["payment"], SaleID: o["sale"], Currency: strings.ToUpper(o["currency"])}
	var err error
	switch {
	case !slices.Contains(webhook.Providers, p.Provider):
		// Under another name it would be another payment than that of its webhook.
		return p, cli.Usagef("%q is not a provider: --provider is %s", p.Provider, strings.Join(webhook.Providers, ", "))
	case p.Provider == webhook.Stripe && !strings.HasPrefix(p.Reference, "pi_"):
		return p, cli.Usagef("%q is not a payment of Stripe: --payment is its payment intent, pi_…, not the session or the charge", p.Reference)
	case p.Provider == webhook.WeChatPay && (strings.Trim(p.Reference, "0123456789") != "" || p.Reference == o["order"]):
		return p, cli.Usagef("%q is not a payment of WeChat Pay: --payment is its transaction_id (微信支付订单号), not the out_trade_no", p.Reference)
	case p.Provider == webhook.Alipay && (strings.Trim(p.Reference, "0123456789") != "" || p.Reference == o["order"]):
		return p, cli.Usagef("%q is not a payment of Alipay: --payment is its trade_no (支付宝交易号), not the out_trade_no", p.Reference)
	case p.Provider == webhook.Adyen && !adyens.MatchString(p.Reference):
		return p, cli.Usagef("%q is not a payment of Adyen: --payment is the pspReference of its authorisation, 16 letters and digits, not the merchantReference", p.Reference)
	}
	if p.OrderID, err = orderid.Parse(o["order"]); err != nil {
		return p, cli.Usagef("%q is not an order id: --order is the number that %s lists", o["order"], where.flashsale("order list"))
	}
	if p.Amount, err = strconv.ParseInt(o["amount"], 10, 64); err != nil {
		return p, cli.Usagef("%q is not an amount: --amount is a whole number of minor units, 89900 for 899.00", o["amount"])
	}
	if err := p.Check(); err != nil {
		return p, cli.Usagef("%w", err)
	}
	return p, nil
}

// showPayment says what the payment is for, as the table has it, and reports whether it is recorded. In a sale with extras
// the payment has its price: the operator has seen it.
func showPayment(ctx context.Context, book *ledger.Ledger, p *sale.Payment, out io.Writer) (recorded bool, err error) {
	if recorded, err = book.Recorded(ctx, *p); err != nil {
		return recorded, err
	}
	o, err := book.Order(ctx, p.OrderID)
	if sale.CodeOf(err) == sale.OrderNotFound {
		if !recorded && time.Since(orderid.Time(p.OrderID)).Abs() < ledger.LateOrderWait {
			return recorded, errors.New("the payment's order does not exist yet; repeat the command")
		}
		fmt.Fprintf(out, "there is no order %s\n", orderid.String(p.OrderID))
		return recorded, nil
	}
	if err != nil {
		return recorded, err
	}
	s, noSale := book.Existing(ctx, o.SaleID)
	c, noClaim := book.Claim(ctx, o.SaleID, o.User)
	if err := cmp.Or(noSale, noClaim); err != nil {
		return recorded, err
	}
	price := "a sale without a price"
	if s.Price != 0 {
		price = fmt.Sprintf("its price is %d %s", s.PriceOf(c.UnitCount()), s.Currency)
	}
	if s.Extras {
		price += ", and a payment may have extras"
		p.Goods, p.GoodsCurrency = s.PriceOf(c.UnitCount()), s.Currency
	}
	fmt.Fprintf(out, "order %s is of %s in sale %s: %s; %s\n", orderid.String(o.ID), o.User, o.SaleID, c.State(), price)
	return recorded, nil
}
