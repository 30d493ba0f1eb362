// Package handler takes batches of order messages: each claim they name gets its order
// id, and exactly the messages that must come again are reported.
//
// A line in here knows the event and the domain. It knows no key, no expression
// and no retry.
package handler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// Book is what the handler needs of the ledger.
type Book interface {
	Confirm(context.Context, []ledger.ClaimRef) []ledger.Confirmation
}

// Handler serves one execution environment; it is safe for concurrent use.
type Handler struct {
	book Book
	log  *telemetry.Log
}

// errAllFailed makes the function's error metric tell that not one message of a
// batch could be handled: with partial failures the invocation succeeds.
var errAllFailed = errors.New("every message of the batch failed")

// New is a handler over a ledger.
func New(b Book, log *telemetry.Log) *Handler { return &Handler{book: b, log: log} }

// Handle confirms the claims that the batch names and reports exactly the
// messages that must come again.
func (h *Handler) Handle(ctx context.Context, batch events.SQSEvent) (answer events.SQSEventResponse, err error) {
	ctx, cancel, event := h.log.Begin(ctx)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			event.End(ctx, "finalize", sale.Internal, err)
		}
	}()

	failures := h.confirm(ctx, batch.Records, event)
	answer.BatchItemFailures = make([]events.SQSBatchItemFailure, 0, len(failures))
	worst := sale.Code("")
	var cause error
	for i, record := range batch.Records {
		failure := failures[i]
		if failure == nil {
			continue
		}
		answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: record.MessageId})
		if code := sale.CodeOf(failure); cause == nil || code == sale.Internal {
			worst, cause = code, fmt.Errorf("message %q: %w", record.MessageId, failure)
		}
	}
	event.Int("messages", len(batch.Records))
	event.Metric("failed", telemetry.Count, len(answer.BatchItemFailures))
	event.End(ctx, "finalize", worst, cause)
	if len(batch.Records) > 0 && len(answer.BatchItemFailures) == len(batch.Records) {
		return answer, errAllFailed
	}
	return answer, nil
}

// confirm returns, per record, why it failed or nil. Messages that name the
// same claim share one confirmation.
func (h *Handler) confirm(ctx context.Context, records []events.SQSMessage, event *telemetry.Event) []error {
	failures := make([]error, len(records))
	position := make(map[ledger.ClaimRef]int, len(records))
	refs := make([]ledger.ClaimRef, 0, len(records))
	of := make([]int, len(records))
	for i, record := range records {
		m, err := orderq.Decode(record.Body)
		if err != nil {
			failures[i] = err
			continue
		}
		ref := ledger.ClaimRef{SaleID: m.SaleID, User: m.User, ClaimID: m.ClaimID}
		at, known := position[ref]
		if !known {
			at = len(refs)
			position[ref], refs = at, append(refs, ref)
		}
		of[i] = at
	}
	if len(refs) == 0 {
		return failures
	}
	results := h.book.Confirm(ctx, refs)
	for i := range records {
		if failures[i] == nil {
			failures[i] = results[of[i]].Err
		}
	}
	confirmed, slowest := 0, time.Duration(0)
	now := time.Now()
	for _, r := range results {
		if r.New {
			confirmed++
			slowest = max(slowest, now.Sub(r.AcceptedAt))
		}
	}
	event.Metric("confirmed", telemetry.Count, confirmed)
	if confirmed > 0 {
		event.Metric("acceptToConfirmMs", telemetry.Milliseconds, int(slowest.Milliseconds()))
	}
	return failures
}
