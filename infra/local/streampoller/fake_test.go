package streampoller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

const (
	fakeARN = "arn:aws:dynamodb:us-east-1:1:table/t/stream/2026-11-11T00:00:00.000"
	// DynamoDB's rules for streams.
	iteratorLife = 15 * time.Minute
	keptFor      = 24 * time.Hour
	pageRecords  = 1000
)

var errDown = errors.New("engine is down")

type fakeShard struct {
	id, parent string
	records    []types.Record
	closed     bool
}

// fakeStream keeps DynamoDB's rules: iterators expire, records are trimmed after a day, a shard
// that ended has no next iterator, and its children are other shards.
type fakeStream struct {
	mu     sync.Mutex
	shards []*fakeShard
	number int
	down   bool
	calls  int
}

func newStream() *fakeStream { return &fakeStream{shards: []*fakeShard{{id: "shard-1"}}} }

// put adds a record of an item to the last shard.
func (s *fakeStream) put(pk string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(pk)
}

// puts adds records that no reader sees one without the other.
func (s *fakeStream) puts(prefix string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range n {
		s.add(prefix + strconv.Itoa(i))
	}
}

func (s *fakeStream) add(pk string) {
	s.number++
	last := s.shards[len(s.shards)-1]
	key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}}
	last.records = append(last.records, types.Record{
		AwsRegion: aws.String("elsewhere"), EventID: aws.String(fmt.Sprintf("id-%d", s.number)), EventName: types.OperationTypeInsert,
		EventSource: aws.String("aws:dynamodb"), EventVersion: aws.String("1.1"),
		Dynamodb: &types.StreamRecord{
			ApproximateCreationDateTime: aws.Time(time.Now()), Keys: key, NewImage: key, SizeBytes: aws.Int64(12),
			SequenceNumber: aws.String(fmt.Sprintf("%021d", s.number)), StreamViewType: types.StreamViewTypeNewAndOldImages,
		},
	})
}

// split ends the last shard; a child follows.
func (s *fakeStream) split() {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.shards[len(s.shards)-1]
	last.closed = true
	s.shards = append(s.shards, &fakeShard{id: fmt.Sprintf("shard-%d", len(s.shards)+1), parent: last.id})
}

func (s *fakeStream) setDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

func (s *fakeStream) called() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func (s *fakeStream) enter() error {
	s.calls++
	if s.down {
		return errDown
	}
	for _, shard := range s.shards {
		shard.records = slices.DeleteFunc(shard.records, func(r types.Record) bool {
			return time.Since(*r.Dynamodb.ApproximateCreationDateTime) > keptFor
		})
	}
	return nil
}

func (s *fakeStream) DescribeStream(_ context.Context, in *dynamodbstreams.DescribeStreamInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(); err != nil {
		return nil, err
	}
	if *in.StreamArn != fakeARN {
		return nil, &types.ResourceNotFoundException{}
	}
	// One shard a page.
	i := slices.IndexFunc(s.shards, func(f *fakeShard) bool { return f.id == aws.ToString(in.ExclusiveStartShardId) }) + 1
	described := &types.StreamDescription{Shards: []types.Shard{{ShardId: &s.shards[i].id}}}
	if parent := s.shards[i].parent; parent != "" {
		described.Shards[0].ParentShardId = &parent
	}
	if i+1 < len(s.shards) {
		described.LastEvaluatedShardId = &s.shards[i].id
	}
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: described}, nil
}

// An iterator is the shard, the number after which it reads, and its time in nanoseconds.
func (s *fakeStream) GetShardIterator(_ context.Context, in *dynamodbstreams.GetShardIteratorInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(); err != nil {
		return nil, err
	}
	after := ""
	switch in.ShardIteratorType {
	case types.ShardIteratorTypeTrimHorizon:
	case types.ShardIteratorTypeAfterSequenceNumber:
		after = *in.SequenceNumber
		shard := s.shard(*in.ShardId)
		if !slices.ContainsFunc(shard.records, func(r types.Record) bool { return *r.Dynamodb.SequenceNumber == after }) {
			return nil, &types.TrimmedDataAccessException{}
		}
	default:
		return nil, errors.New("not a type that the poller needs")
	}
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: iterator(*in.ShardId, after)}, nil
}

func iterator(shard, after string) *string {
	return aws.String(fmt.Sprintf("%s|%s|%d", shard, after, time.Now().UnixNano()))
}

func (s *fakeStream) shard(id string) *fakeShard {
	return s.shards[slices.IndexFunc(s.shards, func(f *fakeShard) bool { return f.id == id })]
}

func (s *fakeStream) GetRecords(_ context.Context, in *dynamodbstreams.GetRecordsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(); err != nil {
		return nil, err
	}
	parts := strings.Split(*in.ShardIterator, "|")
	at, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return nil, err
	}
	if time.Since(time.Unix(0, at)) > iteratorLife {
		return nil, &types.ExpiredIteratorException{}
	}
	shard, after := s.shard(parts[0]), parts[1]
	out := &dynamodbstreams.GetRecordsOutput{}
	more := false
	for _, r := range shard.records {
		if *r.Dynamodb.SequenceNumber <= after {
			continue
		}
		if more = len(out.Records) == pageRecords; more {
			break
		}
		out.Records = append(out.Records, r)
	}
	if n := len(out.Records); n > 0 {
		after = *out.Records[n-1].Dynamodb.SequenceNumber
	}
	if more || !shard.closed {
		out.NextShardIterator = iterator(shard.id, after)
	}
	return out, nil
}

// fakeFunction records its batches and answers with what answer says.
type fakeFunction struct {
	answer func(ctx context.Context, b batch) (response, functionError string, err error)

	mu            sync.Mutex
	batches       []batch
	running, most int
}

type batch struct {
	at      time.Time
	pks     []string
	numbers []string
}

func (f *fakeFunction) Invoke(ctx context.Context, _ string, payload []byte) ([]byte, string, error) {
	var event events.DynamoDBEvent
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, "", err
	}
	b := batch{at: time.Now()}
	for _, r := range event.Records {
		b.pks = append(b.pks, r.Change.Keys["pk"].String())
		b.numbers = append(b.numbers, r.Change.SequenceNumber)
	}
	f.mu.Lock()
	f.batches = append(f.batches, b)
	f.running++
	f.most = max(f.most, f.running)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.running--
		f.mu.Unlock()
	}()
	if f.answer == nil {
		return []byte(`{"batchItemFailures":[]}`), "", nil
	}
	response, functionError, err := f.answer(ctx, b)
	return []byte(response), functionError, err
}

func (f *fakeFunction) seen() []batch {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.batches)
}

// keys are the items of all batches in the order of their arrival.
func (f *fakeFunction) keys() (all []string) {
	for _, b := range f.seen() {
		all = append(all, b.pks...)
	}
	return all
}

func failing(numbers ...string) string {
	var items []string
	for _, n := range numbers {
		items = append(items, fmt.Sprintf(`{"itemIdentifier":%q}`, n))
	}
	return `{"batchItemFailures":[` + strings.Join(items, ",") + `]}`
}

func config(t *testing.T, change func(*Config)) Config {
	t.Helper()
	c := Config{
		StreamARN: fakeARN, SourceARN: "arn:source", Function: "F", Region: "us-east-1", Checkpoint: t.TempDir() + "/streams/F.json",
		BatchSize: 100, Parallel: 1, ReportBatchItemFailures: true,
	}
	if change != nil {
		change(&c)
	}
	return c
}
