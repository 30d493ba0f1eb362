// Package handler processes batches of order messages: each claim they name gets its
// order id, and exactly the messages that must be redelivered are reported.
//
// It maps the event to calls of the ledger and their outcome to the answer. Keys,
// expressions and retries are the ledger's.
package handler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/shared/invocation"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/orderq"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// Ledger is the part of the ledger that the handler uses.
type Ledger interface {
	Confirm(context.Context, []ledger.ClaimRef) []ledger.Confirmation
}

// Handler serves one execution environment; it is safe for concurrent use.
type Handler struct {
	ledger Ledger
	log    *telemetry.Log
	now    func() time.Time
}

// errAllFailed makes the function's error metric count batches of which no message
// could be handled: with partial failures the invocation succeeds. Batches that are all
// poison or for a newer version succeed, too: otherwise anyone who can send a message
// could make a good deployment roll back.
//
// A message for a newer version is left in the queue as a failed one: SQS delivers it
// again, perhaps to the newer version of this function. If that does not come in time,
// it ends in the dead-letter queue, from where `flashsale queue redrive` moves it back.
var errAllFailed = errors.New("every message of the batch failed")

// New returns a handler over a ledger; now returns the current instant.
func New(l Ledger, log *telemetry.Log, now func() time.Time) *Handler {
	return &Handler{ledger: l, log: log, now: now}
}

// Handle confirms the claims that the batch names and reports exactly the messages that
// must be redelivered.
func (h *Handler) Handle(ctx context.Context, batch events.SQSEvent) (answer events.SQSEventResponse, err error) {
	ctx, cancel, event := h.log.Begin(ctx)
	defer cancel()
	var failures []error
	err = invocation.Try(func() error {
		failures = h.confirm(ctx, batch.Records, event)
		return nil
	})
	if err != nil {
		end(ctx, event, len(batch.Records), len(batch.Records), err)
		return answer, err
	}
	answer.BatchItemFailures = make([]events.SQSBatchItemFailure, 0, len(failures))
	var cause error
	for i, record := range batch.Records {
		failure := failures[i]
		if failure == nil {
			continue
		}
		answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{
			ItemIdentifier: record.MessageId,
		})
		code := sale.CodeOf(failure)
		if cause == nil || code == sale.Internal || code == sale.NewerVersion && sale.CodeOf(cause) != sale.Internal {
			cause = fmt.Errorf("message %q: %w", record.MessageId, failure)
		}
	}
	end(ctx, event, len(batch.Records), len(answer.BatchItemFailures), cause)
	retryable := slices.ContainsFunc(failures, func(err error) bool {
		return err != nil && sale.CodeOf(err) != sale.Poison && sale.CodeOf(err) != sale.NewerVersion
	})
	if retryable && len(answer.BatchItemFailures) == len(batch.Records) {
		return answer, errAllFailed
	}
	return answer, nil
}

// end writes the batch's log line; cause is the worst error of a message.
func end(ctx context.Context, event *telemetry.Event, messages, failed int, cause error) {
	code := sale.CodeOf(cause)
	event.Int("messages", messages)
	event.Metric("failed", telemetry.Count, failed)
	event.CountBy("batches", "result", telemetry.Outcome(code))
	event.End("finalize", code, cause)
}

// loggedOrder is what the log tells of an order, enough to write its claim again.
type loggedOrder struct {
	SaleID     string `json:"saleId"`
	User       string `json:"user"`
	ClaimID    string `json:"claimId"`
	OrderID    string `json:"orderId"`
	Shard      int    `json:"shard"`
	Units      int64  `json:"units,omitzero"` // 0 for one
	AcceptedAt int64  `json:"acceptedAt"`
	RequestKey string `json:"requestKey,omitzero"`
}

// confirm returns an error or nil per record. Messages that name the same claim get the
// same order. The log says which order each claim has and whatever else it takes to write the
// claim again, should the table be lost from here on.
func (h *Handler) confirm(ctx context.Context, records []events.SQSMessage, event *telemetry.Event) []error {
	failures := make([]error, len(records))
	refs := make([]ledger.ClaimRef, 0, len(records))
	for i, record := range records {
		m, err := orderq.Decode(record.Body)
		if err != nil {
			failures[i] = err
			continue
		}
		refs = append(refs, ledger.ClaimRef{SaleID: m.SaleID, User: m.User, ClaimID: m.ClaimID, Buckets: m.Buckets})
	}
	if len(refs) == 0 {
		return failures
	}
	if !slices.ContainsFunc(refs, func(r ledger.ClaimRef) bool { return r.SaleID != refs[0].SaleID }) {
		event.Text("saleId", refs[0].SaleID)
	}
	results := h.ledger.Confirm(ctx, refs)
	next := 0
	for i := range records {
		if failures[i] == nil {
			failures[i] = results[next].Err
			next++
		}
	}
	confirmed, slowest := 0, time.Duration(0)
	now := h.now()
	for _, r := range results {
		if r.New {
			confirmed++
			slowest = max(slowest, now.Sub(r.AcceptedAt))
		}
	}
	orders := []loggedOrder{}
	for _, r := range results {
		if r.Err == nil {
			orders = append(orders, loggedOrder{
				r.Order.SaleID, r.Order.User, r.Order.ClaimID, orderid.String(r.Order.ID),
				r.Shard, r.Units, r.AcceptedAt.UnixMilli(), r.RequestKey,
			})
		}
	}
	event.List("orders", orders)
	event.Metric("confirmed", telemetry.Count, confirmed)
	if confirmed > 0 {
		event.Metric("acceptToConfirmMs", telemetry.Milliseconds, int(slowest.Milliseconds()))
	}
	return failures
}
