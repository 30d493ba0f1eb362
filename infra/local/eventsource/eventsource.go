// Package eventsource has what Lambda's event source mappings have in common, whatever they
// read from: the invoked function, its answer about parts of a batch, and the pauses of retries.
package eventsource

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"
)

// Invoker runs a function to its end. An error means that the function may not have
// run; functionError is Lambda's X-Amz-Function-Error header, empty when the function
// returned normally.
type Invoker interface {
	Invoke(ctx context.Context, function string, payload []byte) (response []byte, functionError string, err error)
}

// Failures reads a response as ReportBatchItemFailures defines it and returns the ids that it
// reports, of those in the batch. An error means that the whole batch counts as failed: the
// Lambda Developer Guide lists these cases.
//
// Names are case-sensitive, unlike encoding/json's struct fields: Lambda would ignore a
// misspelt list and count everything as done.
func Failures(response []byte, batch map[string]bool) (map[string]bool, error) {
	if len(bytes.TrimSpace(response)) == 0 {
		return nil, nil
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(response, &top); err != nil {
		return nil, fmt.Errorf("read batch response: %w", err)
	}
	list, ok := top["batchItemFailures"]
	if !ok {
		return nil, nil
	}
	var items []map[string]json.RawMessage
	if err := json.Unmarshal(list, &items); err != nil {
		return nil, fmt.Errorf("read batchItemFailures: %w", err)
	}
	failed := make(map[string]bool, len(items))
	for i, item := range items {
		var id string
		if raw, ok := item["itemIdentifier"]; ok {
			if err := json.Unmarshal(raw, &id); err != nil {
				return nil, fmt.Errorf("read itemIdentifier %d: %w", i, err)
			}
		}
		if !batch[id] {
			return nil, fmt.Errorf("read itemIdentifier %d: %q is not in the batch", i, id)
		}
		failed[id] = true
	}
	return failed, nil
}

// Sleep waits, or returns early when ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

const firstPause = 100 * time.Millisecond

// LastPause is the longest pause of a Backoff.
const LastPause = 5 * time.Second

// Backoff returns growing pauses, half of each random, so that the pollers of one
// engine do not all retry at the same moment.
type Backoff struct{ limit time.Duration }

// Reset makes the next pause a short one.
func (b *Backoff) Reset() { b.limit = 0 }

// Next returns the next pause.
func (b *Backoff) Next() time.Duration {
	limit := max(b.limit, firstPause)
	b.limit = min(2*limit, LastPause)
	return limit/2 + rand.N(limit/2)
}
