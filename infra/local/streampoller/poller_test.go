package streampoller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

// play runs a poller in virtual time until story returns, then stops it.
func play(t *testing.T, c Config, s Stream, f *fakeFunction, story func()) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { run(t, c, s, f, story) })
}

func run(t *testing.T, c Config, s Stream, f *fakeFunction, story func()) {
	t.Helper()
	p, err := New(c, s, f)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	story()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run returned %v, want nil", err)
	}
}

func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func sizes(batches []batch) (out []int) {
	for _, b := range batches {
		out = append(out, len(b.pks))
	}
	return out
}

func TestRecordsArriveOnceInBatchesAndInOrder(t *testing.T) {
	s, f := newStream(), &fakeFunction{}
	play(t, config(t, func(c *Config) { c.BatchSize = 400 }), s, f, func() {
		s.puts("a", 1050)
		after(time.Second)
		s.put("b")
		after(time.Second)
	})
	if got := sizes(f.seen()); !slices.Equal(got, []int{400, 400, 200, 50, 1}) && !slices.Equal(got, []int{400, 400, 250, 1}) {
		t.Errorf("batches of %v", got)
	}
	for i, pk := range f.keys()[:1050] {
		if pk != fmt.Sprintf("a%d", i) {
			t.Fatalf("record %d is of %s", i, pk)
		}
	}
}

func TestABatchWaitsForItsWindowAtMost(t *testing.T) {
	s, f := newStream(), &fakeFunction{}
	play(t, config(t, func(c *Config) { c.BatchSize, c.Window = 10, 5*time.Second }), s, f, func() {
		began := time.Now()
		s.puts("a", 12)
		after(time.Second)
		if got := sizes(f.seen()); !slices.Equal(got, []int{10}) {
			t.Errorf("batches of %v ran at once, want the full one", got)
		}
		after(10 * time.Second)
		got := f.seen()
		if !slices.Equal(sizes(got), []int{10, 2}) || got[1].at.Sub(began) < 5*time.Second || got[1].at.Sub(began) > 6*time.Second {
			t.Errorf("batches of %v, want the rest after the window", sizes(got))
		}
	})
}

func TestEverythingFromTheLowestReportedRecordIsRepeated(t *testing.T) {
	s := newStream()
	first := true
	f := &fakeFunction{answer: func(_ context.Context, b batch) (string, string, error) {
		if first {
			first = false
			return failing(b.numbers[3], b.numbers[1]), "", nil
		}
		return failing(), "", nil
	}}
	play(t, config(t, nil), s, f, func() {
		s.puts("a", 5)
		after(time.Minute)
	})
	if got := f.keys(); !slices.Equal(got, []string{"a0", "a1", "a2", "a3", "a4", "a1", "a2", "a3", "a4"}) {
		t.Errorf("got %v", got)
	}
}

func TestAFailedBatchIsRepeatedWithoutEndAndNothingOvertakesIt(t *testing.T) {
	for name, answer := range map[string]func(batch) (string, string, error){
		"a function error":            func(batch) (string, string, error) { return `{"batchItemFailures":[]}`, "Unhandled", nil },
		"no invocation":               func(batch) (string, string, error) { return "", "", errors.New("throttled") },
		"an answer that is no JSON":   func(batch) (string, string, error) { return "{", "", nil },
		"an unknown record":           func(batch) (string, string, error) { return failing("1"), "", nil },
		"an empty identifier":         func(batch) (string, string, error) { return failing(""), "", nil },
		"an identifier by wrong name": func(batch) (string, string, error) { return `{"batchItemFailures":[{"id":"1"}]}`, "", nil },
		"the first record":            func(b batch) (string, string, error) { return failing(b.numbers[0]), "", nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStream()
			var healthy atomic.Bool
			f := &fakeFunction{}
			f.answer = func(_ context.Context, b batch) (string, string, error) {
				if healthy.Load() {
					return "", "", nil
				}
				return answer(b)
			}
			c := config(t, nil)
			play(t, c, s, f, func() {
				s.puts("a", 2)
				after(time.Second)
				s.puts("b", 2)
				after(6 * time.Minute)
				n := len(f.seen())
				if n < 60 || n > 160 {
					t.Errorf("%d invocations in six minutes, want pauses of up to 5 s", n)
				}
				for _, b := range f.seen() {
					if !slices.Equal(b.pks, []string{"a0", "a1"}) {
						t.Fatalf("%v ran before the failed batch had succeeded", b.pks)
					}
				}
				if content, err := os.ReadFile(c.Checkpoint); err == nil {
					t.Errorf("the checkpoint is %s", content)
				}
				healthy.Store(true)
				after(20 * time.Second)
			})
			if got := f.keys(); !slices.Equal(got[len(got)-4:], []string{"a0", "a1", "b0", "b1"}) {
				t.Errorf("at the end %v", got[len(got)-4:])
			}
		})
	}
}

func TestWithoutPartialResponsesTheAnswerIsNotRead(t *testing.T) {
	s := newStream()
	f := &fakeFunction{answer: func(_ context.Context, b batch) (string, string, error) { return failing(b.numbers[0]), "", nil }}
	play(t, config(t, func(c *Config) { c.ReportBatchItemFailures = false }), s, f, func() {
		s.puts("a", 3)
		after(time.Minute)
	})
	if got := f.keys(); len(got) != 3 {
		t.Errorf("got %v", got)
	}
}

func TestItemsRunAtOnceAndEachInItsOrder(t *testing.T) {
	s := newStream()
	stuck := fmt.Sprintf("%021d", 1) // the first of item0
	f := &fakeFunction{}
	f.answer = func(_ context.Context, b batch) (string, string, error) {
		time.Sleep(10 * time.Millisecond)
		if slices.Contains(b.numbers, stuck) {
			return failing(stuck), "", nil
		}
		return failing(), "", nil
	}
	c := config(t, func(c *Config) { c.Parallel, c.BatchSize = 3, 7 })
	play(t, c, s, f, func() {
		for range 20 {
			s.puts("item", 12)
		}
		after(10 * time.Minute)
	})
	if f.most != 3 {
		t.Errorf("%d batches ran at once, want 3", f.most)
	}
	// The lanes of other items are done, and the progress is not beyond the record that fails.
	seen := map[string]map[string]bool{}
	last := map[string]string{}
	for _, b := range f.seen() {
		for i, pk := range b.pks {
			if seen[pk] == nil {
				seen[pk] = map[string]bool{}
			}
			if !seen[pk][b.numbers[i]] && b.numbers[i] < last[pk] {
				t.Errorf("%s: record %s after %s", pk, b.numbers[i], last[pk])
			}
			seen[pk][b.numbers[i]], last[pk] = true, max(last[pk], b.numbers[i])
		}
	}
	complete := 0
	for _, numbers := range seen {
		if len(numbers) == 20 {
			complete++
		}
	}
	if complete == 0 || complete == 12 || len(seen["item0"]) == 20 {
		t.Errorf("%d of 12 items are complete, and item0 has %d of 20: want only the lane of item0 to wait", complete, len(seen["item0"]))
	}
	if done, err := openCheckpoint(c.Checkpoint, fakeARN); err != nil || done.of("shard-1").After >= stuck {
		t.Errorf("the checkpoint is %v, %v, beyond %s", done.of("shard-1"), err, stuck)
	}
}

func TestAProcessThatDiesRepeatsWhatWasNotDoneAndNothingElse(t *testing.T) {
	s := newStream()
	c := config(t, func(c *Config) { c.BatchSize = 2 })
	dead := false
	f := &fakeFunction{}
	f.answer = func(ctx context.Context, b batch) (string, string, error) {
		if dead = dead || slices.Contains(b.pks, "a4"); dead {
			<-ctx.Done()
			return "", "", ctx.Err()
		}
		return failing(), "", nil
	}
	c.Grace = time.Millisecond
	play(t, c, s, f, func() {
		s.puts("a", 8)
		after(time.Second)
	})
	again := &fakeFunction{}
	play(t, c, s, again, func() { after(time.Second) })
	if got := again.keys(); !slices.Equal(got, []string{"a4", "a5", "a6", "a7"}) {
		t.Errorf("after the restart came %v", got)
	}
	third := &fakeFunction{}
	play(t, c, s, third, func() { after(time.Second) })
	if got := third.keys(); len(got) != 0 {
		t.Errorf("after a restart with nothing new came %v", got)
	}
	c.StreamARN += "9" // the table was created anew
	if p, err := New(c, s, third); err != nil || p.done.of("shard-1") != (progress{}) {
		t.Errorf("another stream begins at %+v, %v", p.done.of("shard-1"), err)
	}
}

func TestStoppingLetsARunningInvocationFinishAndStartsNoOther(t *testing.T) {
	s := newStream()
	f := &fakeFunction{answer: func(ctx context.Context, _ batch) (string, string, error) {
		select {
		case <-time.After(5 * time.Second):
			return "", "", nil
		case <-ctx.Done():
			return "", "", ctx.Err()
		}
	}}
	c := config(t, func(c *Config) { c.BatchSize = 2 })
	play(t, c, s, f, func() {
		s.puts("a", 4)
		after(time.Second)
	})
	if done, err := openCheckpoint(c.Checkpoint, fakeARN); err != nil || !strings.HasSuffix(done.of("shard-1").After, "02") || len(f.seen()) != 1 {
		t.Errorf("%v, %v after %d batches, want the first one done", done.of("shard-1"), err, len(f.seen()))
	}
}

func TestWhatNoFilterLetsThroughIsDone(t *testing.T) {
	s, f := newStream(), &fakeFunction{}
	c := config(t, func(c *Config) {
		c.Filters = []string{`{"dynamodb":{"Keys":{"pk":{"S":[{"prefix":"a"}]}}}}`, `{"dynamodb":{"Keys":{"pk":{"S":["c1"]}}}}`}
	})
	play(t, c, s, f, func() {
		s.puts("b", 3)
		s.puts("a", 2)
		s.puts("c", 3)
		after(time.Second)
		s.put("z")
		after(2 * time.Second)
		// A process that is killed here does not read them again.
		if done, err := openCheckpoint(c.Checkpoint, fakeARN); err != nil || !strings.HasSuffix(done.of("shard-1").After, "009") {
			t.Errorf("the checkpoint is %v, %v", done.of("shard-1"), err)
		}
	})
	if got := f.keys(); !slices.Equal(got, []string{"a0", "a1", "c1"}) {
		t.Errorf("got %v", got)
	}
}

func TestAChildIsReadAfterAllOfItsParent(t *testing.T) {
	s := newStream()
	f := &fakeFunction{answer: func(context.Context, batch) (string, string, error) {
		time.Sleep(3 * time.Second)
		return "", "", nil
	}}
	c := config(t, func(c *Config) { c.BatchSize = 2 })
	play(t, c, s, f, func() {
		s.puts("a", 5)
		s.split()
		s.puts("b", 2)
		s.split()
		s.puts("c", 1)
		after(time.Minute)
	})
	if got := f.keys(); !slices.Equal(got, []string{"a0", "a1", "a2", "a3", "a4", "b0", "b1", "c0"}) || f.most != 1 {
		t.Errorf("got %v, %d at once", got, f.most)
	}
	again := &fakeFunction{}
	play(t, c, s, again, func() {
		s.put("d")
		after(time.Minute)
	})
	if got := again.keys(); !slices.Equal(got, []string{"d"}) {
		t.Errorf("after a restart came %v", got)
	}
}

func TestAShardThatEndedIsNotDoneBeforeItsRecordsAre(t *testing.T) {
	s := newStream()
	f := &fakeFunction{answer: func(context.Context, batch) (string, string, error) {
		time.Sleep(3 * time.Second)
		return "", "", nil
	}}
	c := config(t, func(c *Config) { c.BatchSize = 2 })
	s.puts("a", 5)
	s.split()
	s.puts("b", 1)
	play(t, c, s, f, func() { after(time.Second) })
	play(t, c, s, f, func() { after(time.Minute) })
	if got := f.keys(); !slices.Equal(got, []string{"a0", "a1", "a2", "a3", "a4", "b0"}) {
		t.Errorf("got %v", got)
	}
}

func TestExpiredIteratorsAndAStreamThatIsDownLoseNothing(t *testing.T) {
	s, f := newStream(), &fakeFunction{}
	play(t, config(t, nil), s, f, func() {
		s.put("a")
		after(time.Second)
		s.setDown(true)
		before := s.called()
		after(20 * time.Minute)
		if n := s.called() - before; n < 200 || n > 600 {
			t.Errorf("%d calls in 20 minutes without a stream, want pauses of up to 5 s", n)
		}
		s.put("b")
		s.setDown(false)
		after(10 * time.Second)
	})
	if got := f.keys(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %v", got)
	}
}

func TestReadingGoesOnWithTheOldestRecordThatIsLeft(t *testing.T) {
	s, f := newStream(), &fakeFunction{}
	c := config(t, nil)
	play(t, c, s, f, func() {
		s.put("a")
		after(time.Second)
	})
	// synctest's clocks begin anew: what is older than a day is deleted here.
	s.mu.Lock()
	s.shards[0].records = nil
	s.mu.Unlock()
	play(t, c, s, f, func() {
		s.put("b")
		after(time.Minute)
	})
	if got := f.keys(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %v", got)
	}
}

func TestAFilterAndACheckpointThatCannotBeReadAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"an unknown filter": func(c *Config) { c.Filters = []string{`{"eventName":["INSERT"]}`} },
		"a checkpoint that is no checkpoint": func(c *Config) {
			c.Checkpoint += "/F.json"
			if err := os.MkdirAll(c.Checkpoint, 0o755); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(config(t, change), nil, nil); err == nil {
				t.Error("accepted")
			}
		})
	}
}

func TestTheEventIsLambdas(t *testing.T) {
	p, err := New(config(t, nil), newStream(), nil)
	if err != nil {
		t.Fatal(err)
	}
	when := time.Unix(1480642020, 7e8)
	r, err := p.read(types.Record{
		AwsRegion: aws.String("dynoxide"), EventID: aws.String("f07f"), EventName: types.OperationTypeModify, EventSource: aws.String("aws:dynamodb"),
		EventVersion: aws.String("1.1"), UserIdentity: &types.Identity{Type: aws.String("Service"), PrincipalId: aws.String("dynamodb.amazonaws.com")},
		Dynamodb: &types.StreamRecord{
			ApproximateCreationDateTime: &when, SequenceNumber: aws.String("1405400000000002063282832"), SizeBytes: aws.Int64(54),
			StreamViewType: types.StreamViewTypeNewAndOldImages,
			Keys:           map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "data"}},
			NewImage: map[string]types.AttributeValue{
				"n": &types.AttributeValueMemberN{Value: "1"}, "b": &types.AttributeValueMemberB{Value: []byte{0, 1, 42, 65}},
				"t": &types.AttributeValueMemberBOOL{Value: true}, "z": &types.AttributeValueMemberNULL{Value: true},
				"ss": &types.AttributeValueMemberSS{Value: []string{"x", "y"}}, "ns": &types.AttributeValueMemberNS{Value: []string{"1"}},
				"bs": &types.AttributeValueMemberBS{Value: [][]byte{{0, 1, 42, 65}}},
				"m":  &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"l": &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberS{Value: "in"}}}}},
			},
			OldImage: map[string]types.AttributeValue{},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"awsRegion":"us-east-1","dynamodb":{"ApproximateCreationDateTime":1480642020,"Keys":{"pk":{"S":"data"}},` +
		`"NewImage":{"b":{"B":"AAEqQQ=="},"bs":{"BS":["AAEqQQ=="]},"m":{"M":{"l":{"L":[{"S":"in"}]}}},"n":{"N":"1"},"ns":{"NS":["1"]},"ss":{"SS":["x","y"]},"t":{"BOOL":true},"z":{"NULL":true}},` +
		`"OldImage":{},"SequenceNumber":"1405400000000002063282832","SizeBytes":54,"StreamViewType":"NEW_AND_OLD_IMAGES"},` +
		`"eventID":"f07f","eventName":"MODIFY","eventSource":"aws:dynamodb","eventSourceARN":"arn:source","eventVersion":"1.1",` +
		`"userIdentity":{"principalId":"dynamodb.amazonaws.com","type":"Service"}}`
	if string(r.json) != want {
		t.Errorf("got  %s\nwant %s", r.json, want)
	}
	if !json.Valid(r.json) {
		t.Error("it is not JSON")
	}
}
