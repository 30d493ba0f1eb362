package streampoller

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"flashsale/infra/local/eventsource"
)

const (
	// pollInterval is Lambda's base rate: four times a second.
	pollInterval = 250 * time.Millisecond
	// maxWaiting bounds the records of a shard that were read and are not done.
	maxWaiting = 10000
	// saveInterval is how often progress over records is saved that no filter let through.
	saveInterval = time.Second
)

// shard is the work on one shard: a reader and its lanes.
type shard struct {
	p  *Poller
	id string

	mu      sync.Mutex
	changed *sync.Cond // records were added or done, or the reading or waiting is over
	waiting []*record  // read and not done, and done ones behind them, in order
	lanes   [][]*record
	after   string // up to here all is done
	read    string // the last record that was read
	over    bool   // no record follows
	stopped bool   // no batch may start
	savedAt time.Time
}

func newShard(p *Poller, id string) *shard {
	s := &shard{p: p, id: id, after: p.done.of(id).After, lanes: make([][]*record, p.c.Parallel)}
	s.changed, s.read = sync.NewCond(&s.mu), s.after
	return s
}

// run works until ctx ends or the shard has ended and is done. Invocations run under work.
func (s *shard) run(ctx, work context.Context) {
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stopped = true
		s.changed.Broadcast()
	})
	defer stop()
	var lanes sync.WaitGroup
	for lane := range s.lanes {
		lanes.Go(func() {
			for {
				batch := s.gather(ctx, lane)
				if len(batch) == 0 {
					return
				}
				s.handle(ctx, work, batch)
			}
		})
	}
	ended := s.readAll(ctx)
	s.mu.Lock()
	s.over = true
	s.changed.Broadcast()
	s.mu.Unlock()
	lanes.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.save(progress{After: s.after, Ended: ended && len(s.waiting) == 0})
}

// save saves the progress; what cannot be saved is read again after a restart. The caller
// holds the lock.
func (s *shard) save(p progress) {
	if s.p.done.of(s.id) == p {
		return
	}
	s.savedAt = time.Now()
	if err := s.p.done.save(s.id, p); err != nil {
		s.p.c.Log.Error("records will be handled again after a restart", "shard", s.id, "error", err)
	}
}

// readAll reads records until ctx ends, or until the shard has ended, which it reports.
func (s *shard) readAll(ctx context.Context) (ended bool) {
	var at *string
	var pause eventsource.Backoff
	for ctx.Err() == nil {
		if s.full() {
			eventsource.Sleep(ctx, pollInterval)
			continue
		}
		out, err := s.next(ctx, at)
		if err != nil {
			if ctx.Err() != nil {
				return false
			}
			at = nil
			s.report(err)
			eventsource.Sleep(ctx, pause.Next())
			continue
		}
		pause.Reset()
		s.add(out.Records)
		if at = out.NextShardIterator; at == nil {
			return true
		}
		if len(out.Records) == 0 {
			eventsource.Sleep(ctx, pollInterval)
		}
	}
	return false
}

func (s *shard) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting) >= maxWaiting
}

// next reads a page at the iterator, or without one, after the last record that was read.
func (s *shard) next(ctx context.Context, at *string) (*dynamodbstreams.GetRecordsOutput, error) {
	if at == nil {
		in := &dynamodbstreams.GetShardIteratorInput{
			StreamArn: &s.p.c.StreamARN, ShardId: &s.id, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
		}
		if s.read != "" {
			in.ShardIteratorType, in.SequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, &s.read
		}
		out, err := s.p.stream.GetShardIterator(ctx, in)
		if err != nil {
			return nil, err
		}
		at = out.ShardIterator
	}
	return s.p.stream.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: at})
}

// report logs a failed read. Where the stream no longer has the records that follow, reading
// goes on with the oldest.
func (s *shard) report(err error) {
	var expired *types.ExpiredIteratorException
	var trimmed *types.TrimmedDataAccessException
	switch {
	case errors.As(err, &expired): // it is asked for again
	case errors.As(err, &trimmed):
		s.p.c.Log.Error("the stream dropped records before they were read: after 24 hours they are gone", "shard", s.id, "after", s.read)
		s.read = ""
	default:
		s.p.c.Log.Warn("read stream failed", "shard", s.id, "error", err)
	}
}

// add puts records into their lanes. A record that cannot be read counts as done.
func (s *shard) add(page []types.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, from := range page {
		r, err := s.p.read(from)
		if err != nil {
			s.p.c.Log.Error("left out a record", "shard", s.id, "error", err)
			continue
		}
		s.read = r.number
		if r.done = r.json == nil; !r.done {
			s.lanes[r.lane] = append(s.lanes[r.lane], r)
		}
		s.waiting = append(s.waiting, r)
	}
	s.advance()
	if time.Since(s.savedAt) >= saveInterval {
		s.save(progress{After: s.after})
	}
	s.changed.Broadcast()
}

// advance drops the done records at the front. The caller holds the lock.
func (s *shard) advance() {
	for len(s.waiting) > 0 && s.waiting[0].done {
		s.after = s.waiting[0].number
		s.waiting = s.waiting[1:]
	}
}
