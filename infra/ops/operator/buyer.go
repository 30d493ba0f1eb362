package operator

import (
	"context"
	"fmt"
	"io"
	"time"

	"flashsale/functions/operate/wire"
	"flashsale/infra/ops/cli"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

type personJSON struct {
	User      string     `json:"user"`
	AsOf      string     `json:"asOf"`
	SalesRead int        `json:"salesRead"`
	Complete  bool       `json:"complete"`
	Sales     []heldJSON `json:"sales"`
}

type heldJSON struct {
	SaleID  string        `json:"saleId"`
	Name    string        `json:"name"`
	Order   *orderJSON    `json:"order,omitempty"`
	Group   string        `json:"group,omitempty"` // in which the user has ordered
	Entry   *entryJSON    `json:"entry,omitempty"`
	Refunds []wire.Refund `json:"refunds,omitempty"`
	// Cancelled says which operator has cancelled the order.
	Cancelled *cancelledJSON `json:"cancelled,omitempty"`
}

type cancelledJSON struct {
	At       string `json:"at"`
	By       string `json:"by,omitempty"`
	Verified bool   `json:"verified,omitempty"`
	Note     string `json:"note,omitempty"`
	Expected string `json:"expected"` // the state
	Unit     string `json:"unit"`
	ID       string `json:"id"`
}

type orderJSON struct {
	OrderID     string `json:"orderId,omitempty"`
	ClaimID     string `json:"claimId"`
	Units       int64  `json:"units,omitempty"` // absent if it is one
	State       string `json:"state"`
	AcceptedAt  string `json:"acceptedAt"`
	ConfirmedAt string `json:"confirmedAt,omitempty"`
	RequestKey  string `json:"requestKey,omitempty"`
	ResentAt    string `json:"resentAt,omitempty"`
	PaidAt      string `json:"paidAt,omitempty"`
	Payment     string `json:"payment,omitempty"`
	Amount      int64  `json:"amount,omitempty"`
	Currency    string `json:"currency,omitempty"`
	ReleasedAt  string `json:"releasedAt,omitempty"`
	ReleasedBy  string `json:"releasedBy,omitempty"`
	CancelledAt string `json:"cancelledAt,omitempty"`
	Unit        string `json:"unit,omitempty"`
	RefundedAt  string `json:"refundedAt,omitempty"`
	// Refund is what became of the payment's money.
	Refund *httpapi.Money `json:"refund,omitempty"`
}

type entryJSON struct {
	At    string `json:"at"`
	Nonce string `json:"nonce"`
	Leaf  string `json:"leaf"`
}

// orderOf is an order in JSON. Its state is that of the list of orders.
func orderOf(s sale.Sale, c sale.Claim, m sale.Money) orderJSON {
	one := orderJSON{
		ClaimID: c.ID, Units: c.Units, State: string(stateOf(s, c)), AcceptedAt: httpapi.Time(c.AcceptedAt), RequestKey: c.RequestKey, ResentAt: timeIf(c.ResentAt),
		PaidAt: timeIf(c.PaidAt), Payment: c.Payment, Amount: c.Amount, Currency: c.Currency, ReleasedAt: timeIf(c.ReleasedAt), ReleasedBy: string(c.ReleasedBy),
		CancelledAt: timeIf(c.CancelledAt), Unit: string(c.Unit), RefundedAt: timeIf(m.At), Refund: httpapi.MoneyOf(c.Payment, m),
	}
	if c.OrderID != 0 {
		one.OrderID, one.ConfirmedAt = orderid.String(c.OrderID), httpapi.Time(orderid.Time(c.OrderID))
	}
	return one
}

func heldOf(h maintenance.Held) heldJSON {
	one := heldJSON{SaleID: h.Sale.ID, Name: h.Sale.Name}
	if h.Guarded {
		one.Group = h.Sale.LimitGroup
	}
	if h.Claim != nil {
		one.Order = new(orderOf(h.Sale, *h.Claim, sale.MoneyOf(*h.Claim, sale.RefundOf(*h.Claim, h.Refunds))))
	}
	if c := h.Cancelled; c != nil {
		one.Cancelled = &cancelledJSON{httpapi.Time(c.At), c.Actor, c.Verified, c.Note, string(c.Expected), string(c.Unit), c.ID}
	}
	if h.Entry != nil {
		one.Entry = &entryJSON{At: httpapi.Time(h.Entry.At), Nonce: h.Entry.Nonce.String(), Leaf: h.Entry.Leaf.String()}
	}
	for _, r := range h.Refunds {
		one.Refunds = append(one.Refunds, wire.RefundOf(r))
	}
	return one
}

// showBuyer prints everything that the table holds of one user: the answer to a request for access
// (GDPR, article 15; PIPL, article 45). It writes what was found also if something could not be read,
// and then fails.
func showBuyer(ctx context.Context, p *target, o options, out *terminal) error {
	user := o["buyer"]
	book, err := p.ledger(ctx)
	if err != nil {
		return err
	}
	show, clear := out.progress("sales with the user")
	all := []heldJSON{}
	read, err := maintenance.Of(book).Person(ctx, user, func(h maintenance.Held) error {
		all = append(all, heldOf(h))
		show(int64(len(all)), -1)
		return nil
	})
	clear()
	if failure := cli.WriteRecord(out.command, out, personJSON{user, httpapi.Time(time.Now()), read, err == nil, all}); failure != nil {
		return failure
	}
	out.notef("%d of %d sales hold something of %s; for logs, messages, events and backups see infra/docs/OPERATING.md", len(all), read, user)
	if err != nil {
		return fmt.Errorf("the answer is not complete: %w", err)
	}
	return nil
}

// erase puts random ids in a buyer's place (GDPR, article 17; PIPL, article 47). It is a bad answer if a sale is in
// the way or nothing is held of the buyer.
func erase(ctx context.Context, p *target, o options, out *terminal) error {
	user, try := o["buyer"], o.has("dry-run")
	book, err := p.ledger(ctx)
	if err != nil {
		return err
	}
	held, err := maintenance.Of(book).Erasable(ctx, user)
	if err != nil {
		return notDone("ERASED", err)
	}
	if len(held) == 0 {
		return cli.Bad(fmt.Errorf("NOT ERASED: no sale holds anything of %s: it is not the id of a buyer (ids are case-sensitive), or was erased before", user))
	}
	to := io.Writer(out)
	if !try {
		to = out.command.ErrOrStderr()
	}
	var all []heldJSON
	for _, h := range held {
		all = append(all, heldOf(h))
	}
	if err := cli.WriteYAML(to, all); err != nil {
		return err
	}
	if try {
		fmt.Fprintf(out, "%s would be erased permanently in these %d sales, and they would be sealed with their groups; nothing was changed\n", user, len(held))
		return nil
	}
	if err := out.ask(fmt.Sprintf("Erase %s permanently in these %d sales, and seal them with their groups?", user, len(held))); err != nil {
		return err
	}
	done := 0
	err = maintenance.Of(book).Erase(ctx, user, func(h maintenance.Held) {
		done++
		fmt.Fprintf(out, "%s  erased\n", h.Sale.ID)
	})
	switch {
	case err != nil && done > 0 && sale.CodeOf(err) != sale.Conflicting:
		return fmt.Errorf("%w; repeat the command: it erases what is left", err)
	case err != nil:
		return notDone("ERASED", err)
	}
	fmt.Fprintf(out, "%s was erased in %d sales; logs, messages, events and backups hold the id for as long as infra/docs/OPERATING.md says\n", user, done)
	return nil
}
