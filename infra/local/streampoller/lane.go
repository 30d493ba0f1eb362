package streampoller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"flashsale/infra/local/eventsource"
)

// maxPayload is Lambda's limit for the event of an invocation.
const maxPayload = 6 << 20

// gather takes the lane's next batch, empty if there will be none.
func (s *shard) gather(ctx context.Context, lane int) (batch []*record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.lanes[lane]) == 0 && !s.over && !s.stopped {
		s.changed.Wait()
	}
	if s.p.c.Window > 0 && !s.stopped && len(s.lanes[lane]) > 0 {
		expired := false
		timer := time.AfterFunc(s.p.c.Window, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			expired = true
			s.changed.Broadcast()
		})
		for len(s.lanes[lane]) < s.p.c.BatchSize && !expired && !s.over && !s.stopped {
			s.changed.Wait()
		}
		timer.Stop()
	}
	if s.stopped {
		return nil
	}
	size := 0
	for _, r := range s.lanes[lane] {
		size += len(r.json) + 1
		if len(batch) == s.p.c.BatchSize || len(batch) > 0 && size > maxPayload-100 {
			break
		}
		batch = append(batch, r)
	}
	s.lanes[lane] = s.lanes[lane][len(batch):]
	return batch
}

// handle runs a batch until all of it is done, or until ctx ends.
func (s *shard) handle(ctx, work context.Context, batch []*record) {
	var pause eventsource.Backoff
	for len(batch) > 0 {
		n, err := s.p.invoke(work, batch)
		if n > 0 {
			s.finish(batch[:n])
			batch = batch[n:]
			pause.Reset()
		}
		if err != nil {
			s.p.c.Log.Warn("records failed and are repeated", "shard", s.id, "records", len(batch), "from", batch[0].number, "error", err)
			eventsource.Sleep(ctx, pause.Next())
			if ctx.Err() != nil {
				return
			}
		}
	}
}

// finish marks records as done and saves the progress.
func (s *shard) finish(done []*record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range done {
		r.done = true
	}
	s.advance()
	s.save(progress{After: s.after})
	s.changed.Broadcast()
}

// invoke runs the function once and returns how many records at the batch's beginning are
// done; with an error, they are fewer than all.
func (p *Poller) invoke(ctx context.Context, batch []*record) (done int, err error) {
	event := struct{ Records []json.RawMessage }{make([]json.RawMessage, len(batch))}
	numbers := make(map[string]bool, len(batch))
	for i, r := range batch {
		event.Records[i], numbers[r.number] = r.json, true
	}
	payload, err := json.Marshal(event)
	if err != nil {
		return 0, fmt.Errorf("encode event: %w", err)
	}
	response, functionError, err := p.run.Invoke(ctx, p.c.Function, payload)
	if err != nil {
		return 0, fmt.Errorf("invoke: %w", err)
	}
	if functionError != "" {
		return 0, errors.New("function error: " + functionError)
	}
	if !p.c.ReportBatchItemFailures {
		return len(batch), nil
	}
	failed, err := eventsource.Failures(response, numbers)
	if err != nil {
		return 0, err
	}
	// Everything from the lowest failed number on is repeated, also what succeeded.
	for i, r := range batch {
		if failed[r.number] {
			return i, fmt.Errorf("%d of %d records were reported", len(failed), len(batch))
		}
	}
	return len(batch), nil
}
