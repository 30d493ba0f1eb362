// Package handler handles the requests of schedules and operators: create a sale with
// its stock, add or withdraw units, pause, resume, reschedule, describe or recall it;
// cancel one of its orders.
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
	// Desk applies the requests. Its rules beyond the ledger and the time are fields that main sets.
	Desk change.Desk
	log  *telemetry.Log
}

// New returns a handler over a ledger; now returns the current instant.
func New(l change.Ledger, log *telemetry.Log, now func() time.Time) *Handler {
	return &Handler{Desk: change.Desk{Ledger: l, Now: now}, log: log}
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
		if r.OrderID != "" {
			event.Text("orderId", r.OrderID)
		}
		if lc, ok := lambdacontext.FromContext(ctx); ok && r.ChangeID == "" {
			r.ChangeID = lc.AwsRequestID // which a retry of an asynchronous invocation keeps
		}
		if out, err = h.Desk.Apply(ctx, r); err != nil {
			return err
		}
		event.Metric("seeded", telemetry.Count, int(out.Seeded))
		return nil
	}, func(event *telemetry.Event, code sale.Code) {
		event.CountBy("seedings", "result", telemetry.Result(code))
	})
	return out, err
}
