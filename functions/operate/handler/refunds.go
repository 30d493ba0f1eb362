package handler

import (
	"context"
	"errors"

	"flashsale/functions/operate/bulkrefund"
	"flashsale/functions/operate/wire"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

const (
	// pageRefunds is how many refunds an answer lists.
	pageRefunds = 500
	// maxMarks is the longest body of wire.MostMarks marks, each a write of its own, in bytes: a reference has up to
	// 200 characters.
	maxMarks = 96 << 10
)

// refunds lists a sale's refunds, due and done, or those of unknown orders.
func (h *Handler) refunds(ctx context.Context, req *request, event *telemetry.Event) (any, error) {
	id, after := req.query.saleID, req.query.after
	if err := h.checkSale(ctx, id, event); err != nil {
		return nil, err
	}
	if len(after) > maxKey {
		return nil, sale.Refuse(sale.InvalidRequest, "after must be the next of an answer")
	}
	asOf := h.now() // before what it says is read: a sending takes what was due by then
	found, next, unreadable, err := h.ledger.RefundPage(ctx, id, after, pageRefunds)
	if err != nil {
		return nil, err
	}
	page := wire.Refunds{
		SaleID: id, AsOf: httpapi.Time(asOf), Refunds: []wire.Refund{}, Next: next, Unreadable: unreadable,
		LinesPerFile: bulkrefund.LinesPerFile,
	}
	for _, r := range found {
		page.Refunds = append(page.Refunds, wire.RefundOf(r))
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
	_, err := h.ledger.Existing(ctx, id)
	return err
}

// markedOf says what became of a payment: changed if its mark was made or taken back, unchanged if it was so before.
func markedOf(m ledger.Marking, changed, unchanged string) wire.Marked {
	one := wire.Marked{Payment: m.Payment}
	switch {
	case m.Doubled:
		one.Outcome = wire.Doubled
	case sale.CodeOf(m.Err) == sale.OrderNotFound:
		one.Outcome = wire.Unknown
	case sale.CodeOf(m.Err) == sale.Busy:
		one.Outcome = wire.Busy
	case sale.CodeOf(m.Err) == sale.Conflicting && m.Refund.RefundedAt.IsZero(): // it would be known to be back
		shown := wire.RefundOf(m.Refund)
		one.Outcome, one.Refund = wire.Sent, &shown
	case sale.CodeOf(m.Err) == sale.Conflicting:
		one.Outcome = wire.Unchanged
	case m.Err != nil:
		one.Outcome = wire.Failed
	default:
		shown := wire.RefundOf(m.Refund)
		if one.Outcome, one.Refund = unchanged, &shown; m.Marked {
			one.Outcome = changed
		}
	}
	return one
}

// mark marks refunds as done in the caller's name, or takes marks back. It moves no money.
func (h *Handler) mark(ctx context.Context, req *request, event *telemetry.Event) (any, error) {
	var r wire.Mark
	if err := req.fields(maxMarks, &r, "saleId", "payments", "action", "note"); err != nil {
		return nil, err
	}
	back := r.Action == wire.Unmark
	if r.Action != "" && !back || back != (r.Note != "") {
		return nil, sale.Refuse(sale.InvalidRequest, "action must be unmark, with a note, or absent, without one")
	}
	if len(r.Payments) == 0 || len(r.Payments) > wire.MostMarks {
		return nil, sale.Refusef(sale.InvalidRequest, "payments must be 1 to %d texts", wire.MostMarks)
	}
	author := sale.Author{Actor: req.actor, Note: r.Note}
	if err := errors.Join(author.Check(), h.checkSale(ctx, r.SaleID, event)); err != nil {
		return nil, err
	}
	page, news, answered := wire.Marks{Refunds: []wire.Marked{}}, 0, false
	var failures []error
	var marks []ledger.Marking
	changed, unchanged := wire.Done, wire.Already
	if back {
		changed, unchanged = wire.Unmarked, wire.Unchanged
		event.Text("note", r.Note)
		for _, payment := range r.Payments {
			m := ledger.Marking{Payment: payment}
			m.Refund, m.Marked, m.Err = h.ledger.UnmarkRefund(ctx, r.SaleID, payment, req.actor, r.Note)
			marks = append(marks, m)
		}
	} else {
		marks = h.ledger.MarkRefunds(ctx, r.SaleID, r.Payments, req.actor)
	}
	for _, m := range marks {
		one := markedOf(m, changed, unchanged)
		page.Refunds = append(page.Refunds, one)
		if m.Marked {
			news++
		}
		if one.Outcome == wire.Busy || one.Outcome == wire.Failed {
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
