package handler

import (
	"bytes"
	"context"
	"errors"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"flashsale/functions/operate/wire"
	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// mostSendings is how many sendings an answer lists, besides older ones that go on. One may name a hundred payments.
const mostSendings = 100

// maxSending is the longest body of a press, in bytes.
const maxSending = maxMarks

// sendings lists who has pressed, and how far each press has come.
func (h *Handler) sendings(ctx context.Context, _ *request, event *telemetry.Event) (any, error) {
	all, err := h.ledger.Sendings(ctx)
	if err != nil && (all == nil || sale.CodeOf(err) != sale.Internal) {
		return nil, err
	}
	page := wire.Sendings{
		AsOf: httpapi.Time(h.now()), Sends: h.Sends, Sendings: []wire.Sending{}, Unreadable: err != nil,
	}
	if err != nil {
		event.Text("failure", err.Error())
	}
	for _, s := range all {
		if len(page.Sendings) < mostSendings || s.IsOpen() {
			page.Sendings = append(page.Sendings, wire.SendingOf(s))
		}
	}
	return page, nil
}

// beginSending stores a press, in the caller's name. RefundFunction sends what it asks for.
func (h *Handler) beginSending(ctx context.Context, req *request, event *telemetry.Event) (any, error) {
	r, err := readPress(req)
	if err != nil {
		return nil, err
	}
	asOf, err := time.Parse(time.RFC3339Nano, r.AsOf)
	if err != nil || !asOf.Equal(asOf.Truncate(time.Millisecond)) {
		return nil, &sale.Error{Code: sale.InvalidRequest, Detail: "asOf must be that of a list of refunds", Err: err}
	}
	s := sale.Sending{
		ID: sale.SendingID(asOf, r.ID), AsOf: asOf.UTC(), Count: r.Count, Sums: r.Sums,
		Scope:  sale.SendingScope{SaleID: r.SaleID, Group: r.Group, Payments: r.Payments},
		Author: sale.Author{Actor: req.actor, Verified: req.verified, Note: r.Note},
	}
	event.Text("sending", s.ID)
	event.Int("count", int(s.Count))
	if err := s.Check(h.now()); err != nil {
		return nil, err
	}
	if err := h.checkSale(ctx, r.SaleID, event); err != nil {
		return nil, err
	}
	if !h.Sends {
		return nil, sale.Refuse(sale.Conflicting, "this stack sends no refunds: it was deployed without RefundKeysArn")
	}
	s, isNew, err := h.ledger.BeginSending(ctx, s)
	if err != nil {
		return nil, err
	}
	if isNew {
		event.Int("begun", 1)
	}
	return wire.Begun{Sending: wire.SendingOf(s)}, nil
}

// readPress reads a press strictly. A scope that is there and empty is none of all: whoever has chosen nothing does not
// mean everything.
func readPress(req *request) (r wire.Send, err error) {
	body, err := httpapi.JSONBody(&req.Request, maxSending)
	if err != nil {
		return r, err
	}
	var members map[string]jsontext.Value
	err = errors.Join(
		jsonv2.Unmarshal([]byte(body), &r, jsonv2.RejectUnknownMembers(true)), jsonv2.Unmarshal([]byte(body), &members),
	)
	isEmpty := members["saleId"] != nil && r.SaleID == "" || members["group"] != nil && r.Group == "" ||
		members["payments"] != nil && len(r.Payments) == 0
	if err != nil || isEmpty || hasNull(body) {
		const detail = "the body must be one JSON object of id, asOf, count, sums in minor units by currency, note, " +
			"and saleId, group or payments of saleId and payment, each name once, and none of the last three empty"
		return r, &sale.Error{Code: sale.InvalidRequest, Detail: detail, Err: err}
	}
	return r, nil
}

// hasNull reports whether there is a null in valid JSON.
func hasNull(text string) bool {
	for d := jsontext.NewDecoder(bytes.NewReader([]byte(text))); ; {
		token, err := d.ReadToken()
		if err != nil || token.Kind() == 'n' {
			return err == nil
		}
	}
}

// stopSending ends a press, in the caller's name. What it has sent stays so.
func (h *Handler) stopSending(ctx context.Context, req *request, event *telemetry.Event) (any, error) {
	var r wire.StopSending
	if err := req.fields(maxBody, &r, "id"); err != nil {
		return nil, err
	}
	if !sale.ValidSendingID(r.ID) {
		return nil, sale.Refuse(sale.InvalidRequest, "id must be that of a sending")
	}
	if err := (&sale.Author{Actor: req.actor}).Check(); err != nil {
		return nil, err
	}
	event.Text("sending", r.ID)
	s, stopped, err := h.ledger.StopSending(ctx, r.ID, req.actor)
	if err != nil {
		return nil, err
	}
	if stopped {
		event.Int("stopped", 1)
	}
	return wire.Begun{Sending: wire.SendingOf(s)}, nil
}
