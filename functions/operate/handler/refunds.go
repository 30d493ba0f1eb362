package handler

import (
	"context"
	"errors"

	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

const (
	// pageRefunds is how many refunds an answer lists.
	pageRefunds = 500
	// mostMarks is how many refunds one request marks, each by a write of its own, and maxMarks the longest body, in
	// bytes: a reference has up to 200 characters.
	mostMarks = 100
	maxMarks  = 96 << 10
)

type refundsPage struct {
	SaleID     string   `json:"saleId"` // empty for payments of unknown orders
	AsOf       string   `json:"asOf"`
	Refunds    []refund `json:"refunds"`
	Next       string   `json:"next,omitempty"`
	Unreadable int      `json:"unreadable"`
}

type refund struct {
	httpapi.Refund
	Digits     *int   `json:"digits,omitempty"` // of the currency's minor unit, if it is known
	SaleID     string `json:"saleId"`
	OrderID    string `json:"orderId,omitempty"`
	User       string `json:"user,omitempty"`
	At         string `json:"at"`
	RefundedBy string `json:"refundedBy,omitempty"`
}

func refundOf(r sale.Refund) refund {
	shown := refund{
		Refund: httpapi.RefundsOf([]sale.Refund{r})[0], Digits: digitsOf(r.Currency), SaleID: r.SaleID, User: r.User,
		At: httpapi.Time(r.At), RefundedBy: r.RefundedBy,
	}
	if r.OrderID != 0 {
		shown.OrderID = orderid.String(r.OrderID)
	}
	return shown
}

// refunds lists a sale's refunds, due and done, or those of unknown orders.
func (h *Handler) refunds(ctx context.Context, c *call, event *telemetry.Event) (any, error) {
	id, after := c.query.saleID, c.query.after
	if err := h.checkSale(ctx, id, event); err != nil {
		return nil, err
	}
	if len(after) > maxKey {
		return nil, sale.Refuse(sale.InvalidRequest, "after must be the next of an answer")
	}
	found, next, unreadable, err := h.book.RefundPage(ctx, id, after, pageRefunds)
	if err != nil {
		return nil, err
	}
	page := refundsPage{SaleID: id, AsOf: httpapi.Time(h.now()), Refunds: []refund{}, Next: next, Unreadable: unreadable}
	for _, r := range found {
		page.Refunds = append(page.Refunds, refundOf(r))
	}
	return page, nil
}

// maxKey is the longest sort key that DynamoDB takes, in bytes.
const maxKey = 1024

// checkSale returns the error of a sale that does not exist; "" stands for the payments of unknown orders.
func (h *Handler) checkSale(ctx context.Context, id string, event *telemetry.Event) error {
	if id == "" {
		return nil
	}
	if !sale.ValidID(id) {
		return sale.RefuseID("saleId")
	}
	event.Text("saleId", id)
	_, err := h.book.Sale(ctx, id)
	return err
}

type marksPage struct {
	Refunds []marked `json:"refunds"`
}

// marked is what became of a payment. Outcome is "marked", "already" (marked before: do not pay it back again),
// "doubled" (named before in the request), "unknown", "busy" (ask again) or "failed" (the log says why).
type marked struct {
	Payment string  `json:"payment"`
	Outcome string  `json:"outcome"`
	Refund  *refund `json:"refund,omitempty"`
}

func markedOf(m ledger.Marking) marked {
	one := marked{Payment: m.Payment}
	switch {
	case m.Doubled:
		one.Outcome = "doubled"
	case sale.CodeOf(m.Err) == sale.OrderNotFound:
		one.Outcome = "unknown"
	case sale.CodeOf(m.Err) == sale.Busy:
		one.Outcome = "busy"
	case m.Err != nil:
		one.Outcome = "failed"
	default:
		shown := refundOf(m.Refund)
		if one.Outcome, one.Refund = "already", &shown; m.Marked {
			one.Outcome = "marked"
		}
	}
	return one
}

// mark marks refunds as done in the caller's name. It moves no money.
func (h *Handler) mark(ctx context.Context, c *call, event *telemetry.Event) (any, error) {
	var r struct {
		SaleID   string   `json:"saleId"`
		Payments []string `json:"payments"`
	}
	if err := c.fields(maxMarks, &r, "saleId", "payments"); err != nil {
		return nil, err
	}
	if len(r.Payments) == 0 || len(r.Payments) > mostMarks {
		return nil, sale.Refusef(sale.InvalidRequest, "payments must be 1 to %d texts", mostMarks)
	}
	author := sale.Author{Actor: c.actor}
	if err := errors.Join(author.Check(), h.checkSale(ctx, r.SaleID, event)); err != nil {
		return nil, err
	}
	page, news, answered := marksPage{Refunds: []marked{}}, 0, false
	var failures []error
	for _, m := range h.book.MarkRefunds(ctx, r.SaleID, r.Payments, c.actor) {
		one := markedOf(m)
		page.Refunds = append(page.Refunds, one)
		if m.Marked {
			news++
		}
		if one.Outcome == "busy" || one.Outcome == "failed" {
			failures = append(failures, m.Err)
		} else {
			answered = true
		}
	}
	event.Int("marked", news)
	if failure := errors.Join(failures...); failure != nil && answered {
		event.Text("failure", failure.Error())
	} else if failure != nil {
		return nil, failures[0]
	}
	return page, nil
}
