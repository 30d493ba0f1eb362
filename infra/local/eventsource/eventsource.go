// Package eventsource has what those have in common that invoke functions, the gateway, event source mappings and
// schedules: the invoked function, its answer about parts of a batch, and the pauses of retries.
package eventsource

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Invoker runs a function to its end. An error means that the function may not have
// run, and ErrThrottled that its concurrency is used up; functionError is Lambda's X-Amz-Function-Error header, empty when the function
// returned normally.
type Invoker interface {
	Invoke(ctx context.Context, function string, payload []byte) (response []byte, functionError string, err error)
}

// ErrThrottled refuses an invocation beyond a concurrency limit.
var ErrThrottled = errors.New("rate exceeded: no concurrency left")

// Batch runs a function once with the items of these ids and returns those that its response
// reports as failed, as ReportBatchItemFailures defines it. An error means that the whole batch
// counts as failed: the Lambda Developer Guide lists these cases.
func Batch(ctx context.Context, run Invoker, function string, payload []byte, ids []string) (failed map[string]bool, err error) {
	response, functionError, err := run.Invoke(ctx, function, payload)
	switch {
	case err != nil:
		return nil, fmt.Errorf("invoke: %w", err)
	case functionError != "":
		return nil, errors.New("function error: " + functionError)
	}
	batch := make(map[string]bool, len(ids))
	for _, id := range ids {
		batch[id] = true
	}
	return failures(response, batch)
}

// failures reads a response. Names are case-sensitive, unlike encoding/json's struct fields:
// Lambda would ignore a misspelt list and count everything as done.
func failures(response []byte, batch map[string]bool) (map[string]bool, error) {
	if len(bytes.TrimSpace(response)) == 0 {
		return nil, nil
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(response, &top); err != nil {
		return nil, fmt.Errorf("read batch response: %w", err)
	}
	var items []map[string]json.RawMessage
	if list, ok := top["batchItemFailures"]; ok {
		if err := json.Unmarshal(list, &items); err != nil {
			return nil, fmt.Errorf("read batchItemFailures: %w", err)
		}
	}
	failed := make(map[string]bool, len(items))
	for i, item := range items {
		var id string
		if err := json.Unmarshal(item["itemIdentifier"], &id); err != nil || !batch[id] {
			return nil, fmt.Errorf("read itemIdentifier %d: %s is not in the batch", i, item["itemIdentifier"])
		}
		failed[id] = true
	}
	return failed, nil
}

// grace bounds how long invocations may continue after their poller or scheduler was stopped.
const grace = 10 * time.Second

// Running is the invocations of a poller or a scheduler. They run under Context, which outlives
// the one that stops their poller.
type Running struct {
	sync.WaitGroup
	Context context.Context
	abandon context.CancelFunc
}

func NewRunning(ctx context.Context) *Running {
	r := &Running{}
	r.Context, r.abandon = context.WithCancel(context.WithoutCancel(ctx))
	return r
}

// Finish waits for the invocations, and abandons those that last longer than the grace period.
func (r *Running) Finish() {
	defer r.abandon()
	limit := time.AfterFunc(grace, r.abandon)
	defer limit.Stop()
	r.Wait()
}

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

func (b *Backoff) Reset() { b.limit = 0 }

func (b *Backoff) Next() time.Duration {
	limit := max(b.limit, firstPause)
	b.limit = min(2*limit, LastPause)
	return limit/2 + rand.N(limit/2)
}
