package handler

import (
	"context"
	"slices"
	"time"

	"flashsale/shared/currency"
	"flashsale/shared/httpapi"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// story is what happened to one buyer's order, and what support may tell the buyer.
type story struct {
	SaleID  string `json:"saleId"`
	User    string `json:"user"`
	State   string `json:"state"` // NONE, or the claim's
	ClaimID string `json:"claimId,omitempty"`
	OrderID string `json:"orderId,omitempty"`
	// Amount is what the order was paid with, or is to be, as people write it.
	Amount   string `json:"amount,omitempty"`
	Lines    []line `json:"lines"`
	ForBuyer string `json:"forBuyer"`

	to *call // who is told, and so in which language
}

// line is an event, or without an instant what is so now.
type line struct {
	At   string `json:"at,omitempty"`
	Text string `json:"text"`
}

func (s *story) add(at time.Time, format string, values ...any) {
	s.Lines = append(s.Lines, line{httpapi.Time(at), s.to.says(format, values...)})
}

func (s *story) now(format string, values ...any) {
	s.Lines = append(s.Lines, line{Text: s.to.says(format, values...)})
}

// buyer tells what happened to one buyer's order.
func (h *Handler) buyer(ctx context.Context, c *call, event *telemetry.Event) (any, error) {
	saleID, err := saleOf(c, event)
	if err != nil {
		return nil, err
	}
	if !sale.AdmitsUser(c.user) {
		return nil, sale.Refuse(sale.InvalidRequest,
			"a user id is 1 to 128 printable characters, or up to 255 of ASCII, without a blank at either end")
	}
	event.Text("user", c.user)
	s, err := h.book.Sale(ctx, saleID)
	if err != nil {
		return nil, err
	}
	told := &story{SaleID: saleID, User: c.user, State: "NONE", Lines: []line{}, to: c}
	claim, err := h.book.Claim(ctx, saleID, c.user)
	switch {
	case sale.CodeOf(err) == sale.OrderNotFound:
		err = h.tellNone(ctx, told, s)
	case err == nil:
		err = h.tellClaim(ctx, told, s, claim)
	}
	return told, err
}

// tellNone tells of a buyer without a claim why there may be none.
func (h *Handler) tellNone(ctx context.Context, told *story, s sale.Sale) error {
	told.now("%s has no claim in sale %s (ids are case-sensitive; the id is the token's sub)", told.User, s.ID)
	phase := told.to.word(string(s.Phase(h.now())))
	told.now("%s sells from %s to %s and is %s now%s", s.ID, instant(s.Begins()), instant(s.Ends()), phase, because(s))
	if s.Archive != "" {
		told.now("%s", told.to.refusal(s.RefuseArchived()).(*sale.Error).Detail)
	}
	if s.LimitGroup != "" {
		other, err := h.book.OrderedIn(ctx, s.LimitGroup, told.User)
		if err != nil {
			return err
		}
		if other != "" {
			told.now("%s has ordered in sale %s of the group %s", told.User, other, s.LimitGroup)
			told.ForBuyer = told.to.says("there is one order for each customer in all of these sales, and yours is in %s", other)
			return nil
		}
	}
	changes, _, err := h.book.Trail(ctx, s.ID, mostChanges)
	if err != nil {
		return err
	}
	for _, c := range slices.Backward(changes) {
		if c.Action == sale.ActionAdd && c.At.After(s.Begins()) {
			told.add(c.At, `%d units were added (%s): a "sold out" before that was correct`, c.Units, c.ID)
		}
	}
	if s.PayWithin > 0 {
		told.now(
			`units of orders that are not paid in time, or are cancelled, are sold again: a "sold out" before that was correct`)
	}
	told.ForBuyer = told.to.word("no order was accepted under this account")
	return nil
}

// tellClaim tells the story of a claim.
func (h *Handler) tellClaim(ctx context.Context, told *story, s sale.Sale, c sale.Claim) error {
	told.State, told.ClaimID = string(c.State()), c.ID
	told.add(c.AcceptedAt, "accepted: claim %s, one unit of shard %d", c.ID, c.Shard)
	if !c.ResentAt.IsZero() {
		told.add(c.ResentAt, "its order message was sent again (latest resend)")
	}
	if c.State() == sale.Pending {
		told.now("pending for %v", h.now().Sub(c.AcceptedAt).Round(time.Second))
		told.ForBuyer = told.to.word("your order was accepted; its number will follow, and you need not order again")
		return nil
	}
	told.OrderID = orderid.String(c.OrderID)
	switch {
	case c.Currency != "":
		told.Amount = told.to.money(c.Amount, c.Currency)
	case s.Price > 0:
		told.Amount = told.to.money(s.Price, s.Currency)
	}
	told.add(orderid.Time(c.OrderID), "confirmed: order %s", told.OrderID)
	switch _, err := h.book.Order(ctx, c.OrderID); {
	case sale.CodeOf(err) == sale.OrderNotFound:
		told.now("its order item is missing: ReconcileFunction sends its message again")
	case err != nil:
		return err
	}
	return h.tellSettled(ctx, told, s, c)
}

// tellSettled tells how a confirmed claim was paid or released, and what to say to the buyer.
func (h *Handler) tellSettled(ctx context.Context, told *story, s sale.Sale, c sale.Claim) error {
	type dated struct {
		at   time.Time
		what string
	}
	var lines []dated
	word, says := told.to.word, told.to.says
	add := func(at time.Time, what string) { lines = append(lines, dated{at, what}) }
	number, payBy := orderid.String(c.OrderID), s.PayBy(c.OrderID)
	if s.IsRecalled() {
		add(s.RecalledAt, says("the sale was recalled%s", because(s)))
	}
	say := says("your order is %s", number)
	if !c.PaidAt.IsZero() {
		add(c.PaidAt, says("paid: %s", c.Payment))
	}
	cancelled, err := h.book.Cancelled(ctx, c)
	if err != nil {
		return err
	}
	switch c.State() {
	case sale.Paid:
		say += word(", and it is paid")
		if !c.RefundedAt.IsZero() {
			add(c.RefundedAt,
				word("its provider has paid the payment back, and the order stands: cancel it, unless it is to be delivered"))
			say = says("your order is %s, and its payment was paid back", number)
		}
	case sale.Expired, sale.Cancelled:
		if cancelled == nil {
			add(c.ReleasedAt, says("released by %s", word(string(c.ReleasedBy))))
		} else {
			add(cancelled.At,
				says("cancelled by %s%s; its unit: %s", cancelled.Actor, after(cancelled.Note), word(string(cancelled.Unit))))
		}
		say = says("your order %s is expired, and its unit is not yours any more", number)
		if c.State() == sale.Cancelled {
			say = says("your order %s is cancelled, and its unit is not yours any more", number)
		}
	default:
		if !payBy.IsZero() {
			add(payBy, word("to be paid by then; a payment counts as long as the order is not released"))
			say += word(", and it is not paid")
		}
	}
	if s.IsRecalled() {
		say = says("the sale was recalled, and the goods will not come; %s", say)
	}
	refunds, err := h.book.RefundsOf(ctx, c)
	if err != nil {
		return err
	}
	for _, r := range refunds {
		if r.RefundedAt.IsZero() {
			add(r.At, says("a refund is due: %s, %d %s in minor units, because: %s",
				r.Payment, r.Amount, r.Currency, word(string(r.Reason))))
			say += says("; your payment of %s (%s) will be paid back", told.to.money(r.Amount, r.Currency), r.Payment)
			continue
		}
		add(r.RefundedAt, says("refunded: %s, %d %s in minor units", r.Payment, r.Amount, r.Currency))
		say += says("; your payment of %s (%s) was paid back on %s",
			told.to.money(r.Amount, r.Currency), r.Payment, r.RefundedAt.UTC().Format(time.DateOnly))
	}
	slices.SortStableFunc(lines, func(a, b dated) int { return a.at.Compare(b.at) })
	for _, l := range lines {
		told.Lines = append(told.Lines, line{httpapi.Time(l.at), l.what})
	}
	told.ForBuyer = say
	return nil
}

// because is what the operator wrote about the sale's recall, after a colon; "" if nothing.
func because(s sale.Sale) string { return after(s.RecallNote) }

// after is a note after a colon; "" if there is none.
func after(note string) string {
	if note == "" {
		return ""
	}
	return ": " + note
}

// instant is an instant as people read it.
func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// money is an amount in minor units as people write it.
func (c *call) money(amount int64, code string) string {
	text, known := currency.Decimal(amount, code)
	if !known {
		return c.says("%d %s in minor units", amount, code)
	}
	return code + " " + text
}
