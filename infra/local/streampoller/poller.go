// Package streampoller does what Lambda's event source mapping for a DynamoDB stream does: it
// reads the stream's shards from the oldest record on, drops the records that match no filter,
// and invokes a function with batches of the others until each has succeeded once.
//
// It uses the client API of DynamoDB Streams and Lambda's event and response formats; it neither
// runs functions nor interprets items. The records of one item arrive in their order: a shard's
// items are divided among as many lanes as may run batches at once, and a lane repeats a batch,
// from the first record that failed, until it succeeds.
//
// How far a shard is done is on disk (checkpoint.go), written only after success. So a record
// may arrive twice after a crash, and none is left out. Differences from AWS: shards are polled
// by one process, a batch that fails is not joined by newer records, and it is repeated even when
// the stream has dropped its records.
package streampoller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"flashsale/infra/local/eventpattern"
	"flashsale/infra/local/eventsource"
)

// Stream is the part of a client for DynamoDB Streams that a poller uses.
type Stream interface {
	DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(context.Context, *dynamodbstreams.GetRecordsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error)
}

// Config describes one event source mapping whose function reports the records of a batch that
// failed.
type Config struct {
	// StreamARN is the stream's for the client, SourceARN the one in the event's records.
	StreamARN, SourceARN string
	// Function is the function's name for the Invoker.
	Function string
	// Region is the region in the event's records.
	Region string
	// Checkpoint is the path of the file with the progress.
	Checkpoint string
	BatchSize  int
	// Window is how long a batch may wait to fill after its first record.
	Window time.Duration
	// Parallel is how many batches of one shard may run at once.
	Parallel int
	// Filters are patterns of package eventpattern; a record must match one, if there are any.
	Filters []string
	// Log receives errors; nil discards them.
	Log *slog.Logger
}

// Poller connects one stream with one function.
type Poller struct {
	c       Config
	stream  Stream
	run     eventsource.Invoker
	filters []*eventpattern.Pattern
	done    *checkpoint
}

// discover is how often a stream is asked for new shards, besides whenever one has ended: the
// engine reads all its records for the answer.
const discover = 5 * time.Minute

// New compiles the filters and reads the checkpoint.
func New(c Config, s Stream, i eventsource.Invoker) (*Poller, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Log = c.Log.With("stream", c.StreamARN, "function", c.Function)
	p := &Poller{c: c, stream: s, run: i}
	for _, text := range c.Filters {
		f, err := eventpattern.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("configure stream poller: %w", err)
		}
		p.filters = append(p.filters, f)
	}
	var err error
	p.done, err = openCheckpoint(c.Checkpoint, c.StreamARN)
	return p, err
}

// Run polls until ctx ends, then lets the running invocations finish within the grace
// period and returns nil. It retries a stream that cannot be reached.
func (p *Poller) Run(ctx context.Context) error {
	running := eventsource.NewRunning(ctx)
	started := map[string]bool{}
	ended := make(chan struct{}, 1) // gets a token when a shard has ended: its children may start
	var pause eventsource.Backoff
	for ctx.Err() == nil {
		shards, err := p.shards(ctx)
		if err != nil {
			if ctx.Err() == nil {
				p.c.Log.Warn("describe stream failed", "error", err)
			}
			eventsource.Sleep(ctx, pause.Next())
			continue
		}
		pause.Reset()
		for _, id := range p.ready(shards) {
			if !started[id] {
				started[id] = true
				running.Go(func() {
					newShard(p, id).run(ctx, running.Context)
					select {
					case ended <- struct{}{}:
					default:
					}
				})
			}
		}
		next := time.NewTimer(discover)
		select {
		case <-next.C:
		case <-ended:
		case <-ctx.Done():
		}
		next.Stop()
	}
	running.Finish()
	return nil
}

// shards returns all shards of the stream.
func (p *Poller) shards(ctx context.Context) (all []types.Shard, err error) {
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &p.c.StreamARN}
	for {
		out, err := p.stream.DescribeStream(ctx, in)
		if err != nil {
			return nil, err
		}
		all = append(all, out.StreamDescription.Shards...)
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			return all, nil
		}
	}
}

// ready returns the shards that may be read: a child follows its parent, so that the changes of
// an item keep their order. A parent that is not listed has been trimmed.
func (p *Poller) ready(shards []types.Shard) (ids []string) {
	listed := map[string]bool{}
	for _, s := range shards {
		listed[aws.ToString(s.ShardId)] = true
	}
	for _, s := range shards {
		id, parent := aws.ToString(s.ShardId), aws.ToString(s.ParentShardId)
		if !p.done.of(id).Ended && (!listed[parent] || p.done.of(parent).Ended) {
			ids = append(ids, id)
		}
	}
	return ids
}

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
