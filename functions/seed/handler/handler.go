// Package handler handles the requests of schedules and operators: create a sale with
// its stock, add or withdraw units, pause, resume, reschedule, describe or recall it.
//
// What a request means is package change's.
package handler

import (
	"context"
	"encoding/json"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"flashsale/shared/change"
	"flashsale/shared/sale"
	"flashsale/shared/scheduled"
	"flashsale/shared/telemetry"
)

// Handler serves one execution environment; it is safe for concurrent use.
type Handler struct {
	desk change.Desk
	log  *telemetry.Log
}

// New returns a handler over a ledger; now returns the current instant.
func New(b change.Book, log *telemetry.Log, now func() time.Time) *Handler {
	return &Handler{desk: change.Desk{Book: b, Now: now}, log: log}
}

// ImagesFrom allows pictures of that origin, and of no other; "" allows none.
func (h *Handler) ImagesFrom(origin string) *Handler {
	h.desk.ImageOrigin = origin
	return h
}

// Drawing gives the handler the least time from the end of entering to the first call of a draw.
func (h *Handler) Drawing(lead time.Duration) *Handler {
	h.desk.DrawLead = lead
	return h
}

// ChargedByStripe tells the handler whether Stripe reports payments, so that prices must be of amounts
// that it charges.
func (h *Handler) ChargedByStripe(is bool) *Handler {
	h.desk.Stripe = is
	return h
}

// Handle applies one request. A failure is a function error named after its code.
func (h *Handler) Handle(ctx context.Context, raw json.RawMessage) (change.Answer, error) {
	var out change.Answer
	err := scheduled.Run(ctx, h.log, "seed", func(ctx context.Context, event *telemetry.Event) error {
		r, err := change.Decode(raw)
		if err != nil {
			return err
		}
		event.Text("action", r.Action)
		event.Text("saleId", r.SaleID)
		if lc, ok := lambdacontext.FromContext(ctx); ok && r.ChangeID == "" {
			r.ChangeID = lc.AwsRequestID // which a retry of an asynchronous invocation keeps
		}
		if out, err = h.desk.Apply(ctx, r); err != nil {
			return err
		}
		event.Metric("seeded", telemetry.Count, int(out.Seeded))
		return nil
	}, func(event *telemetry.Event, code sale.Code) {
		event.CountBy("seedings", "result", telemetry.Result(code))
	})
	return out, err
}
