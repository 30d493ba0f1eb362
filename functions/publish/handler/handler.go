// Package handler publishes the changes of orders and sales that the records of the
// table's stream report, and says from which record on Lambda must repeat a batch.
//
// The ledger interprets records; package eventbus publishes the events.
package handler

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/shared/invocation"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// Bus publishes events and returns nil or an error for each: sale.Poison if the bus will
// never take that event.
type Bus interface {
	Publish(context.Context, []sale.Event) []error
}

// Failures stores records that cannot be published.
type Failures interface {
	Send(ctx context.Context, record json.RawMessage, cause error) error
}

// Handler serves one execution environment; it is safe for concurrent use.
type Handler struct {
	bus      Bus
	failures Failures
	log      *telemetry.Log
	now      func() time.Time
}

// New returns a handler; now returns the current instant.
func New(b Bus, f Failures, log *telemetry.Log, now func() time.Time) *Handler {
	return &Handler{bus: b, failures: f, log: log, now: now}
}

// Batch is what Lambda delivers. Each record is decoded on its own, so that one that
// cannot be decoded does not affect the others.
type Batch struct {
	Records []json.RawMessage
}

// record is a record and what became of it.
type record struct {
	raw      json.RawMessage
	sequence string // "" if it cannot be decoded
	at       time.Time
	events   []sale.Event
	err      error // the worst of its events', or its own
}

// Handle publishes the events of a batch. Lambda keeps the order of records only if it
// repeats all of them from the first failed one on, so the answer names that one alone; a
// repeated event has the same id (P26). A record that can never be published goes to the
// failures with its content, because it would block its shard until the stream drops
// it (after 24 hours): Lambda's own destination for failures gets only the record's place in the stream.
func (h *Handler) Handle(ctx context.Context, batch Batch) (answer events.DynamoDBEventResponse, err error) {
	ctx, cancel, event := h.log.Begin(ctx)
	defer cancel()
	t := tally{records: len(batch.Records)}
	err = invocation.Try(func() error {
		answer.BatchItemFailures = h.settle(ctx, h.publish(ctx, batch.Records, &t), &t)
		return nil
	})
	if err != nil {
		t.cause, t.failed = err, t.records
	}
	t.end(event)
	return answer, err
}

// settle stores what can never be published, and returns the first record that must be repeated.
func (h *Handler) settle(ctx context.Context, records []record, t *tally) []events.DynamoDBBatchItemFailure {
	first := []events.DynamoDBBatchItemFailure{}
	for _, r := range records {
		if r.err == nil {
			continue
		}
		t.addCause(r.err)
		// Behind the first failure nothing is stored: all of it is delivered again.
		repeated := len(first) > 0
		if sale.CodeOf(r.err) != sale.Busy && !repeated {
			sendErr := h.failures.Send(ctx, r.raw, r.err)
			if sendErr == nil {
				t.poison++
				continue
			}
			t.addCause(sendErr)
		}
		t.failed++
		if !repeated {
			first = append(first, events.DynamoDBBatchItemFailure{ItemIdentifier: r.sequence})
		}
	}
	return first
}

// publish publishes the events of all records and sets the error of each record.
func (h *Handler) publish(ctx context.Context, raw []json.RawMessage, t *tally) []record {
	records := make([]record, len(raw))
	var all []sale.Event
	for i, text := range raw {
		records[i] = read(text)
		all = append(all, records[i].events...)
	}
	errs := h.bus.Publish(ctx, all)
	now := h.now()
	next := 0
	for i := range records {
		r := &records[i]
		for _, e := range r.events {
			switch failure := errs[next]; {
			case failure == nil:
				t.published++
				t.delay = max(t.delay, now.Sub(r.at))
			case r.err == nil || sale.CodeOf(r.err) == sale.Poison:
				// If any event may still be published, the whole record is repeated.
				r.err = fmt.Errorf("event %s: %w", e.ID, failure)
			}
			next++
		}
	}
	return records
}

// read decodes a record and derives its events.
func read(raw json.RawMessage) record {
	var content struct {
		DynamoDB struct {
			SequenceNumber string
			// ApproximateCreationDateTime is in Unix seconds.
			ApproximateCreationDateTime float64
			OldImage, NewImage          ledger.Image
		} `json:"dynamodb"`
	}
	r := record{raw: raw}
	if err := json.Unmarshal(raw, &content); err != nil {
		r.err = sale.Fail(sale.Poison, fmt.Errorf("decode record: %w", err))
		return r
	}
	change := content.DynamoDB
	r.sequence = change.SequenceNumber
	r.at = time.UnixMilli(int64(change.ApproximateCreationDateTime * 1000))
	r.events, r.err = ledger.Changes(change.OldImage, change.NewImage, r.at)
	return r
}

// tally counts what became of a batch.
type tally struct {
	records, published, failed, poison int
	delay                              time.Duration // the longest, from a change, in whole seconds, to its event
	cause                              error         // the worst one
}

func (t *tally) addCause(err error) {
	if t.cause == nil || sale.CodeOf(t.cause) == sale.Busy {
		t.cause = err
	}
}

// end writes the batch's log line with the figures that alarms watch (P11).
func (t *tally) end(event *telemetry.Event) {
	code := sale.CodeOf(t.cause)
	event.Int("records", t.records)
	event.Metric("events", telemetry.Count, t.published)
	event.Metric("failed", telemetry.Count, t.failed)
	event.Metric("poison", telemetry.Count, t.poison)
	if t.published > 0 {
		event.Metric("delayMs", telemetry.Milliseconds, int(t.delay.Milliseconds()))
	}
	event.CountBy("batches", "result", telemetry.Outcome(code))
	event.End("publish", code, t.cause)
}
