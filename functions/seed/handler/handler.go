// Package handler takes what a schedule or an operator sends: create a sale with its
// stock, add units, pause, resume or reschedule it.
//
// A line in here knows the event and the domain. It knows no key, no expression
// and no retry.
package handler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// Book is what the handler needs of the ledger.
type Book interface {
	Create(context.Context, sale.Creation) (ledger.Seeding, error)
	Add(context.Context, sale.Addition) (ledger.Seeding, error)
	Edit(context.Context, sale.Edit) (ledger.Seeding, error)
}

// Handler serves one execution environment; it is safe for concurrent use.
type Handler struct {
	book Book
	log  *telemetry.Log
	now  func() time.Time
}

// answer is what every action says of the sale it leaves behind.
type answer struct {
	SaleID  string `json:"saleId"`
	Seeded  int64  `json:"seeded"`
	Shards  int    `json:"shards"`
	Applied bool   `json:"applied"`
}

// New is a handler over a ledger; now is the current instant.
func New(b Book, log *telemetry.Log, now func() time.Time) *Handler {
	return &Handler{book: b, log: log, now: now}
}

// Handle applies one request. A failure is a function error of the code's name.
func (h *Handler) Handle(ctx context.Context, raw json.RawMessage) (out answer, failure error) {
	ctx, cancel, event := h.log.Begin(ctx)
	defer cancel()
	var err error
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		code := sale.CodeOf(err)
		event.CountBy("seedings", "result", telemetry.Outcome(code))
		event.End("seed", code, err)
		failure = told(err)
	}()

	var r request
	if r, err = decode(raw); err != nil {
		return out, nil
	}
	event.Text("action", r.Action)
	event.Text("saleId", r.SaleID)
	var s ledger.Seeding
	if s, err = h.apply(ctx, r); err != nil {
		return out, nil
	}
	event.Metric("seeded", telemetry.Count, int(s.Seeded))
	return answer{SaleID: s.SaleID, Seeded: s.Seeded, Shards: s.Shards, Applied: s.Applied}, nil
}

func (h *Handler) apply(ctx context.Context, r request) (ledger.Seeding, error) {
	switch r.Action {
	case "create":
		c, err := r.creation()
		if err != nil {
			return ledger.Seeding{}, err
		}
		return h.book.Create(ctx, c)
	case "add":
		a, err := r.addition()
		if err != nil {
			return ledger.Seeding{}, err
		}
		return h.book.Add(ctx, a)
	}
	e, err := r.edit(h.now())
	if err != nil {
		return ledger.Seeding{}, err
	}
	return h.book.Edit(ctx, e)
}

// told is the function error that the caller sees: the code and what may be
// told, never a foreign error's text.
func told(err error) error {
	if err == nil {
		return nil
	}
	code := sale.CodeOf(err)
	text := string(code)
	var e *sale.Error
	if errors.As(err, &e) && e.Detail != "" {
		text += ": " + e.Detail
	}
	return messages.InvokeResponse_Error{Type: string(code), Message: text}
}
