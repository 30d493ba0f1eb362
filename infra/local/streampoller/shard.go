package streampoller

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
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

// progress is how far a shard is done.
type progress struct {
	// After is the sequence number up to which, with it, all records are done; "" for none.
	After string `json:"after,omitempty"`
	// Ended: the shard has ended, and all its records are done.
	Ended bool `json:"ended,omitempty"`
}

// checkpoint is the file with the progress of one stream's shards. It is replaced as a whole,
// so that a crash leaves the former one or the new one.
type checkpoint struct {
	path string

	mu     sync.Mutex
	Stream string              `json:"stream"`
	Shards map[string]progress `json:"shards"`
}

// openCheckpoint reads the file. The progress of another stream does not count: the table was
// created anew, or its stream was turned off and on.
func openCheckpoint(path, stream string) (*checkpoint, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("open checkpoint: %w", err)
	}
	c := &checkpoint{path: path}
	content, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(content, c)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open checkpoint %s: %w", path, err)
	}
	if c.Stream != stream || c.Shards == nil {
		c.Stream, c.Shards = stream, map[string]progress{}
	}
	return c, nil
}

func (c *checkpoint) of(shard string) progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Shards[shard]
}

// save records a shard's progress durably.
func (c *checkpoint) save(shard string, p progress) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Shards[shard] = p
	content, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	if err := replace(c.path, append(content, '\n')); err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	return nil
}

func replace(path string, content []byte) error {
	next := path + ".new"
	f, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(next, path); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// record is a stream's record on its way to the function.
type record struct {
	number string // sequence number
	lane   int
	json   json.RawMessage // as Lambda sends it; nil if no filter lets it through
	done   bool
}

// read makes the record that Lambda sends, and decides whether and in which lane it is sent.
func (p *Poller) read(r types.Record) (*record, error) {
	d := r.Dynamodb
	if d == nil || aws.ToString(d.SequenceNumber) == "" {
		return nil, fmt.Errorf("record %s has no sequence number", aws.ToString(r.EventID))
	}
	change := map[string]any{
		"SequenceNumber": *d.SequenceNumber, "SizeBytes": aws.ToInt64(d.SizeBytes), "StreamViewType": string(d.StreamViewType),
	}
	if d.ApproximateCreationDateTime != nil {
		change["ApproximateCreationDateTime"] = d.ApproximateCreationDateTime.Unix()
	}
	for name, attributes := range map[string]map[string]types.AttributeValue{"Keys": d.Keys, "NewImage": d.NewImage, "OldImage": d.OldImage} {
		if attributes == nil {
			continue
		}
		image, err := plain(attributes)
		if err != nil {
			return nil, fmt.Errorf("record %s: %w", *d.SequenceNumber, err)
		}
		change[name] = image
	}
	event := map[string]any{
		"eventID": aws.ToString(r.EventID), "eventName": string(r.EventName), "eventVersion": aws.ToString(r.EventVersion),
		"eventSource": aws.ToString(r.EventSource), "awsRegion": p.c.Region, "dynamodb": change, "eventSourceARN": p.c.SourceARN,
	}
	out := &record{number: *d.SequenceNumber}
	if !p.wanted(event) {
		return out, nil
	}
	keys, err := json.Marshal(change["Keys"]) // map keys are sorted
	if err != nil {
		return nil, err
	}
	hash := fnv.New32a()
	_, _ = hash.Write(keys)
	out.lane = int(hash.Sum32() % uint32(p.c.Parallel))
	out.json, err = json.Marshal(event)
	return out, err
}

func (p *Poller) wanted(event map[string]any) bool {
	for _, f := range p.filters {
		if f.Match(event) {
			return true
		}
	}
	return len(p.filters) == 0
}

// plain is a map of attributes as DynamoDB's JSON, decoded.
func plain(attributes map[string]types.AttributeValue) (map[string]any, error) {
	out := make(map[string]any, len(attributes))
	for name, v := range attributes {
		value, err := plainValue(v)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", name, err)
		}
		out[name] = value
	}
	return out, nil
}

func plainValue(v types.AttributeValue) (map[string]any, error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}, nil
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}, nil
	case *types.AttributeValueMemberB:
		return map[string]any{"B": base64.StdEncoding.EncodeToString(v.Value)}, nil
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}, nil
	case *types.AttributeValueMemberSS:
		return map[string]any{"SS": list(v.Value)}, nil
	case *types.AttributeValueMemberNS:
		return map[string]any{"NS": list(v.Value)}, nil
	}
	return nil, fmt.Errorf("no item of the table has a %T", v)
}

// list is a set as filters see it.
func list(set []string) []any {
	out := make([]any, len(set))
	for i, v := range set {
		out[i] = v
	}
	return out
}
