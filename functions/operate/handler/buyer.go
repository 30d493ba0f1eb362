package handler

import (
	"context"
	"slices"
	"time"

	"flashsale/functions/operate/wire"
	"flashsale/shared/httpapi"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// story is what happened to one buyer's order, and what support may tell the buyer. It has no words: those are
// its readers', in their languages.
type story struct {
	SaleID  string `json:"saleId"`
	User    string `json:"user"`
	State   string `json:"state"` // NONE, or the claim's
	ClaimID string `json:"claimId,omitempty"`
	OrderID string `json:"orderId,omitempty"`
	Units   int64  `json:"units,omitempty"` // of the claim
	amount         // with which the order was paid, or is to be
	Lines   []line `json:"lines"`
	// ForBuyer are the parts of what support may say, in their order.
	ForBuyer []line `json:"forBuyer"`
}

// amount is none without a currency.
type amount struct {
	Amount   *int64 `json:"amount,omitempty"` // minor units
	Currency string `json:"currency,omitempty"`
	Digits   *int   `json:"digits,omitempty"` // of the minor unit, if they are known
}

func amountOf(minor int64, currency string) amount {
	return amount{&minor, currency, wire.Digits(currency)}
}

// line is an event, or without an instant what is so now. Its kind says which of the fields it has.
type line struct {
	At   string `json:"at,omitempty"`
	Kind string `json:"kind"`

	SaleID   string `json:"saleId,omitempty"` // another one
	Group    string `json:"group,omitempty"`
	OpensAt  string `json:"opensAt,omitempty"`
	ClosesAt string `json:"closesAt,omitempty"`
	Phase    string `json:"phase,omitempty"`
	Digest   string `json:"digest,omitempty"` // of the archive
	ChangeID string `json:"changeId,omitempty"`
	Units    int64  `json:"units,omitempty"`
	ClaimID  string `json:"claimId,omitempty"`
	OrderID  string `json:"orderId,omitempty"`
	Shard    *int   `json:"shard,omitempty"`
	Seconds  *int64 `json:"seconds,omitempty"`
	Payment  string `json:"payment,omitempty"`
	amount
	Back   int64  `json:"back,omitempty"`   // minor units
	Reason string `json:"reason,omitempty"` // of a refund
	By     string `json:"by,omitempty"`     // whom it was released or cancelled
	// Expected is the state in which it was cancelled.
	Expected sale.ClaimState `json:"expected,omitempty"`
	Unit     string          `json:"unit,omitempty"`
	Note     string          `json:"note,omitempty"`

	at time.Time
}

func (s *story) add(at time.Time, l line) {
	l.at, l.At = at, httpapi.Time(at)
	s.Lines = append(s.Lines, l)
}

func (s *story) now(l line) { s.Lines = append(s.Lines, l) }

func (s *story) say(l line) { s.ForBuyer = append(s.ForBuyer, l) }

// order tells what happened to the order of an id.
func (h *Handler) order(ctx context.Context, req *request, event *telemetry.Event) (any, error) {
	id, err := httpapi.OrderID(&req.Request)
	if err != nil {
		return nil, err
	}
	event.Text("orderId", orderid.String(id))
	found, err := h.ledger.Order(ctx, id)
	if err != nil {
		return nil, err
	}
	return h.tell(ctx, found.SaleID, found.User)
}

// buyer tells what happened to one buyer's order.
func (h *Handler) buyer(ctx context.Context, req *request, event *telemetry.Event) (any, error) {
	saleID, err := saleOf(req, event)
	if err != nil {
		return nil, err
	}
	if !sale.AdmitsUser(req.user) {
		return nil, sale.Refuse(sale.InvalidRequest,
			"a user id is 1 to 128 printable characters, or up to 255 of ASCII, without a blank at either end")
	}
	event.Text("user", req.user)
	return h.tell(ctx, saleID, req.user)
}

func (h *Handler) tell(ctx context.Context, saleID, user string) (any, error) {
	s, err := h.ledger.Latest(ctx, saleID)
	if err != nil {
		return nil, err
	}
	told := &story{SaleID: saleID, User: user, State: "NONE"}
	claim, err := h.ledger.Claim(ctx, saleID, user)
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
	told.now(line{Kind: "no-claim"})
	told.now(line{
		Kind: "window", OpensAt: httpapi.Time(s.Begins()), ClosesAt: httpapi.Time(s.Ends()),
		Phase: string(s.Phase(h.now())), Note: s.RecallNote,
	})
	switch {
	case s.Archive != "" && s.ArchivedAt.IsZero():
		told.now(line{Kind: "archived", Digest: s.Archive}) // it is still being archived
	case s.Archive != "":
		told.add(s.ArchivedAt, line{Kind: "archived", Digest: s.Archive})
	}
	if s.LimitGroup != "" {
		other, err := h.ledger.OrderedIn(ctx, s.LimitGroup, told.User)
		if err != nil {
			return err
		}
		if other != "" {
			told.now(line{Kind: "ordered-in-group", SaleID: other, Group: s.LimitGroup})
			told.say(line{Kind: "ordered-in-group", SaleID: other})
			return nil
		}
	}
	changes, _, err := h.ledger.Trail(ctx, s.ID, mostChanges)
	if err != nil {
		return err
	}
	for _, c := range slices.Backward(changes) {
		if c.Action == sale.ActionAdd && c.At.After(s.Begins()) {
			told.add(c.At, line{Kind: "units-added", Units: c.Units, ChangeID: c.ID})
		}
	}
	if s.PayWithin > 0 {
		told.now(line{Kind: "units-return"})
	}
	told.say(line{Kind: "no-order"})
	return nil
}

// tellClaim tells the story of a claim.
func (h *Handler) tellClaim(ctx context.Context, told *story, s sale.Sale, c sale.Claim) error {
	told.State, told.ClaimID, told.Units = string(c.State()), c.ID, c.UnitCount()
	told.add(c.AcceptedAt, line{Kind: "accepted", ClaimID: c.ID, Shard: &c.Shard})
	if !c.ResentAt.IsZero() {
		told.add(c.ResentAt, line{Kind: "resent"})
	}
	if c.State() == sale.Pending {
		told.now(line{Kind: "pending", Seconds: new(int64(h.now().Sub(c.AcceptedAt).Round(time.Second) / time.Second))})
		told.say(line{Kind: "pending"})
		return nil
	}
	told.OrderID = orderid.String(c.OrderID)
	switch {
	case c.Currency != "":
		told.amount = amountOf(c.Amount, c.Currency)
	case s.Price > 0:
		told.amount = amountOf(s.PriceOf(c.UnitCount()), s.Currency)
	}
	told.add(orderid.Time(c.OrderID), line{Kind: "confirmed", OrderID: told.OrderID})
	switch _, err := h.ledger.Order(ctx, c.OrderID); {
	case sale.CodeOf(err) == sale.OrderNotFound:
		told.now(line{Kind: "order-missing"})
	case err != nil:
		return err
	}
	begun := len(told.Lines)
	if err := h.tellSettled(ctx, told, s, c); err != nil {
		return err
	}
	slices.SortStableFunc(told.Lines[begun:], func(a, b line) int {
		if a.at.IsZero() != b.at.IsZero() { // what is so now comes last
			return b.at.Compare(a.at)
		}
		return a.at.Compare(b.at)
	})
	return nil
}

// tellSettled tells how a confirmed claim was paid or released, and what to say to the buyer.
func (h *Handler) tellSettled(ctx context.Context, told *story, s sale.Sale, c sale.Claim) error {
	if s.IsRecalled() {
		told.add(s.RecalledAt, line{Kind: "recalled", Note: s.RecallNote})
		told.say(line{Kind: "recalled"})
	}
	if !c.PaidAt.IsZero() {
		told.add(c.PaidAt, line{Kind: "paid", Payment: c.Payment})
	}
	cancelled, err := h.ledger.Cancelled(ctx, c)
	if err != nil {
		return err
	}
	state, payBy := c.State(), s.PayBy(c.OrderID)
	if state == sale.Expired || state == sale.Cancelled {
		if cancelled == nil {
			told.add(c.ReleasedAt, line{Kind: "released", By: string(c.ReleasedBy)})
		} else {
			told.add(cancelled.At, line{
				Kind: "cancelled", ChangeID: cancelled.ID, By: cancelled.Actor,
				Expected: cancelled.Expected, Unit: string(cancelled.Unit), Note: cancelled.Note,
			})
		}
		told.say(line{Kind: map[sale.ClaimState]string{sale.Expired: "expired", sale.Cancelled: "cancelled"}[state]})
	} else {
		told.say(line{Kind: "order"})
	}
	refunds, err := h.ledger.RefundsOf(ctx, c)
	if err != nil {
		return err
	}
	stands := state == sale.Paid && sale.RefundOf(c, refunds) == nil // or else its refund tells of the money
	money := sale.MoneyOf(c, nil)
	isBack := stands && !money.At.IsZero()
	switch {
	case isBack:
		told.add(money.At, line{Kind: "paid-back"})
		told.say(line{Kind: "paid-back"})
	case state == sale.Paid && !(stands && money.State == sale.MoneyLost):
		told.say(line{Kind: "paid"})
	case state == sale.Confirmed && !payBy.IsZero():
		told.add(payBy, line{Kind: "pay-by"})
		told.say(line{Kind: "unpaid"})
	}
	if stands && moneyKinds[money.State] != "" {
		told.tellMoney(c.Payment, money)
	}
	for _, r := range refunds {
		told.tellRefund(r)
	}
	return nil
}

// moneyKinds are the kinds of the lines about a payment's money, in the states that "refund-due", "refunded" and
// "paid-back" do not tell.
var moneyKinds = map[sale.MoneyState]string{
	sale.MoneyPart: "refund-part", sale.MoneyFailed: "refund-failed", sale.MoneyStuck: "refund-stuck",
	sale.MoneyDisputed: "disputed", sale.MoneyLost: "dispute-lost",
}

// tellMoney tells what became of a payment's money, to both.
func (s *story) tellMoney(payment string, m sale.Money) {
	one := line{Kind: moneyKinds[m.State], Payment: payment, amount: s.amount}
	if m.Currency != "" {
		one.amount = amountOf(m.Paid, m.Currency)
	}
	if m.State == sale.MoneyPart {
		one.Back = m.Back
	}
	s.now(one)
	s.say(one)
}

// tellRefund tells of a payment that is to go back, or did.
func (s *story) tellRefund(r sale.Refund) {
	one := line{Kind: "refunded", Payment: r.Payment, amount: amountOf(r.Amount, r.Currency)}
	money := sale.MoneyOf(sale.Claim{}, &r)
	if !money.At.IsZero() {
		one.At = httpapi.Time(money.At) // of what is said, too
		s.say(one)
		s.add(money.At, one)
	} else {
		one.Kind = "refund-due"
		if moneyKinds[money.State] == "" {
			s.say(one)
		}
		one.Reason = string(r.Reason)
		s.add(r.At, one)
		s.tellSent(r)
	}
	if moneyKinds[money.State] != "" {
		s.tellMoney(r.Payment, money)
	}
}

// tellSent tells operators what became of a refund that the stack has sent.
func (s *story) tellSent(r sale.Refund) {
	one := line{Kind: "sent-" + string(r.Sent.State), Payment: r.Payment, amount: amountOf(r.Amount, r.Currency)}
	switch r.Sent.State {
	case sale.SentUnknown:
		if r.RefundedAt.IsZero() { // or else a report has told more
			s.add(r.Sent.At, one)
		}
	case sale.SentAccepted:
		s.add(r.Sent.At, one)
	case sale.SentRefused:
		one.Note = r.Sent.Code
		if r.Sent.Words != "" {
			one.Note += ", " + r.Sent.Words
		}
		s.now(one)
	}
}
