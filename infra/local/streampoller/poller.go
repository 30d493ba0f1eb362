// Package streampoller does what Lambda's event source mapping for a DynamoDB stream does: it
// reads the stream from the oldest record on, drops the records that match no filter,
// and invokes a function with batches of the others until each has succeeded once.
//
// It uses the client API of DynamoDB Streams and Lambda's event and response formats; it neither
// runs functions nor interprets items. The records of one item arrive in their order: the
// items are divided among as many lanes as may run batches at once, and a lane repeats a batch,
// from the first record that failed, until it succeeds.
//
// How far the stream is done is on disk (checkpoint.go), written only after success. So a record
// may arrive twice after a crash, and none is left out. Differences from AWS: shards are read one
// after the other (the engine's streams have one open shard), a batch that fails is not joined by
// newer records, and it is repeated even when the stream has dropped its records.
package streampoller

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
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
	// Parallel is how many batches may run at once.
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

	mu      sync.Mutex
	done    checkpoint
	waiting []*record // read and not done, and done ones behind them, in order
}

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

const (
	// pollInterval is Lambda's base rate: four times a second.
	pollInterval = 250 * time.Millisecond
	// mostWaiting bounds the records that were read and are not done.
	mostWaiting = 10000
	// pageRecords is how many records DynamoDB gives at once.
	pageRecords = 1000
)

// Run polls until ctx ends, then lets the running invocations finish within the grace
// period and returns nil. It retries a stream that cannot be reached.
func (p *Poller) Run(ctx context.Context) error {
	running := eventsource.NewRunning(ctx)
	lanes := make([]chan *record, p.c.Parallel)
	for i := range lanes {
		lanes[i] = make(chan *record, mostWaiting+pageRecords) // never full
		running.Go(func() {
			for ctx.Err() == nil {
				p.handle(ctx, running.Context, p.gather(ctx, lanes[i]))
			}
		})
	}
	p.readAll(ctx, lanes)
	running.Finish()
	return nil
}

// readAll reads records into their lanes until ctx ends.
func (p *Poller) readAll(ctx context.Context, lanes []chan *record) {
	last, iterator := p.done.position, (*string)(nil)
	var pause eventsource.Backoff
	for ctx.Err() == nil {
		if p.full() {
			eventsource.Sleep(ctx, pollInterval)
			continue
		}
		page, err := p.next(ctx, &last, iterator)
		if err != nil {
			iterator = nil
			var trimmed *types.TrimmedDataAccessException
			if errors.As(err, &trimmed) {
				p.c.Log.Error("the stream dropped records before they were read: after 24 hours they are gone", "after", last)
				last = position{}
			}
			if ctx.Err() == nil {
				p.c.Log.Warn("read stream failed", "error", err)
			}
			eventsource.Sleep(ctx, pause.Next())
			continue
		}
		pause.Reset()
		p.add(&last, page.Records, lanes)
		if iterator = page.NextShardIterator; iterator == nil {
			next, err := p.shardAfter(ctx, last.Shard)
			if err == nil && next != last.Shard {
				last = position{Shard: next}
			}
		}
		if len(page.Records) == 0 {
			eventsource.Sleep(ctx, pollInterval)
		}
	}
}

func (p *Poller) full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting) >= mostWaiting
}

// next reads a page at the iterator, or without one, after the last record that was read.
func (p *Poller) next(ctx context.Context, last *position, iterator *string) (*dynamodbstreams.GetRecordsOutput, error) {
	if last.Shard == "" {
		first, err := p.shardAfter(ctx, "")
		if err != nil {
			return nil, err
		}
		last.Shard = first
	}
	if iterator == nil {
		in := &dynamodbstreams.GetShardIteratorInput{
			StreamArn: &p.c.StreamARN, ShardId: &last.Shard, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
		}
		if last.After != "" {
			in.ShardIteratorType, in.SequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, &last.After
		}
		out, err := p.stream.GetShardIterator(ctx, in)
		if err != nil {
			return nil, err
		}
		iterator = out.ShardIterator
	}
	return p.stream.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator})
}

// shardAfter returns the shard that follows another one; that one itself if none does, and the
// oldest one if the stream has dropped it.
func (p *Poller) shardAfter(ctx context.Context, shard string) (string, error) {
	oldest, found := "", false
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &p.c.StreamARN}
	for {
		out, err := p.stream.DescribeStream(ctx, in)
		if err != nil {
			return "", err
		}
		for _, s := range out.StreamDescription.Shards {
			id := aws.ToString(s.ShardId)
			if found {
				return id, nil
			}
			oldest, found = cmp.Or(oldest, id), id == shard
		}
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			break
		}
	}
	if found {
		return shard, nil
	}
	return oldest, nil
}

// add puts records into their lanes. A record that cannot be read counts as done.
func (p *Poller) add(last *position, page []types.Record, lanes []chan *record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, from := range page {
		r, err := p.record(last.Shard, from)
		if err != nil {
			p.c.Log.Error("left out a record", "error", err)
			continue
		}
		*last = r.position
		if r.done = r.json == nil; !r.done {
			lanes[r.lane] <- r
		}
		p.waiting = append(p.waiting, r)
	}
	p.advance()
}

// advance drops the done records at the front. The caller holds the lock.
func (p *Poller) advance() {
	for len(p.waiting) > 0 && p.waiting[0].done {
		p.done.position = p.waiting[0].position
		p.waiting = p.waiting[1:]
	}
}

// finish marks records as done and saves how far all are. What cannot be saved is read again
// after a restart, and so are records that no filter let through since.
func (p *Poller) finish(done []*record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range done {
		r.done = true
	}
	before := p.done.position
	p.advance()
	if before == p.done.position {
		return
	}
	if err := p.done.save(); err != nil {
		p.c.Log.Error("records will be handled again after a restart", "error", err)
	}
}

// gather returns a lane's next batch, empty once ctx has ended.
func (p *Poller) gather(ctx context.Context, lane <-chan *record) (batch []*record) {
	var end <-chan time.Time // of the window, which begins with the first record
	for len(batch) < p.c.BatchSize {
		var r *record
		select {
		case r = <-lane:
		default:
			select {
			case r = <-lane:
			case <-end:
				return batch
			case <-ctx.Done():
				return nil
			}
		}
		if batch == nil {
			end = time.After(p.c.Window)
		}
		batch = append(batch, r)
	}
	return batch
}

// handle runs a batch until all of it is done, or until ctx ends.
func (p *Poller) handle(ctx, work context.Context, batch []*record) {
	var pause eventsource.Backoff
	for len(batch) > 0 && ctx.Err() == nil {
		n, err := p.invoke(work, batch[:fitting(batch)])
		if n > 0 {
			p.finish(batch[:n])
			batch = batch[n:]
			pause.Reset()
		}
		if err != nil {
			p.c.Log.Warn("records failed and are repeated", "records", len(batch), "from", batch[0].position, "error", err)
			eventsource.Sleep(ctx, pause.Next())
		}
	}
}

// maxPayload is Lambda's limit for the event of an invocation.
const maxPayload = 6 << 20

// fitting is how many records at a batch's beginning fit into one event, at least one.
func fitting(batch []*record) int {
	size := len(`{"Records":[]}`)
	for i, r := range batch {
		if size += len(r.json) + 1; i > 0 && size > maxPayload {
			return i
		}
	}
	return len(batch)
}

// invoke runs the function once and returns how many records at the batch's beginning are
// done; with an error, they are fewer than all.
func (p *Poller) invoke(ctx context.Context, batch []*record) (done int, err error) {
	event := struct{ Records []json.RawMessage }{make([]json.RawMessage, len(batch))}
	numbers := make([]string, len(batch))
	for i, r := range batch {
		event.Records[i], numbers[i] = r.json, r.After
	}
	payload, err := json.Marshal(event)
	if err != nil {
		return 0, fmt.Errorf("encode event: %w", err)
	}
	failed, err := eventsource.Batch(ctx, p.run, p.c.Function, payload, numbers)
	if err != nil {
		return 0, err
	}
	// Everything from the lowest failed number on is repeated, also what succeeded.
	for i, number := range numbers {
		if failed[number] {
			return i, fmt.Errorf("%d of %d records were reported", len(failed), len(batch))
		}
	}
	return len(batch), nil
}
