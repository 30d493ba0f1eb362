package streampoller

import (
	"context"
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

// Config describes one event source mapping.
type Config struct {
	// StreamARN is the stream's for the client, SourceARN the one in the event's records.
	StreamARN, SourceARN string
	// Function is the function's name for the Invoker.
	Function string
	// Region is the region in the event's records.
	Region string
	// Checkpoint is the path of the file with the progress.
	Checkpoint string
	// BatchSize is between 1 and 10,000.
	BatchSize int
	// Window is how long a batch may wait to fill after its first record, 0 to 5 min.
	Window time.Duration
	// Parallel is how many batches of one shard may run at once, 1 to 10.
	Parallel int
	// ReportBatchItemFailures means that the response names the records that failed.
	ReportBatchItemFailures bool
	// Filters are patterns of package eventpattern; a record must match one, if there are any.
	Filters []string
	// Grace bounds how long running invocations may continue after Run's context ends;
	// 10 s when zero.
	Grace time.Duration
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

// New checks the configuration by Lambda's rules and reads the checkpoint.
func New(c Config, s Stream, i eventsource.Invoker) (*Poller, error) {
	switch {
	case c.StreamARN == "" || c.SourceARN == "" || c.Function == "" || c.Checkpoint == "":
		return nil, errors.New("configure stream poller: stream, source, function and checkpoint are needed")
	case c.BatchSize < 1 || c.BatchSize > 10000:
		return nil, errors.New("configure stream poller: batch size must be between 1 and 10000")
	case c.Window < 0 || c.Window > 5*time.Minute:
		return nil, errors.New("configure stream poller: window must be between 0 and 5 minutes")
	case c.Parallel < 1 || c.Parallel > 10:
		return nil, errors.New("configure stream poller: between 1 and 10 batches may run at once")
	}
	if c.Grace == 0 {
		c.Grace = 10 * time.Second
	}
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
	work, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	var running sync.WaitGroup
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
					newShard(p, id).run(ctx, work)
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
	limit := time.AfterFunc(p.c.Grace, abandon)
	defer limit.Stop()
	running.Wait()
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
