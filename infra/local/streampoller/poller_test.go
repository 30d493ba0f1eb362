package streampoller

import (
	"cmp"
	"context"
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

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"flashsale/infra/local/eventsource/eventsourcetest"
)

const fakeARN = "arn:aws:dynamodb:us-east-1:1:table/t/stream/2026-11-11T00:00:00.000"

// fakeStream keeps DynamoDB's rules: a page has a thousand records at most, no position is found
// after a record that was trimmed, and a shard that ended has no next iterator.
type fakeStream struct {
	mu     sync.Mutex
	shards [][]types.Record // all but the last one have ended
	number int
	down   bool
	calls  int
}

func newStream() *fakeStream { return &fakeStream{shards: make([][]types.Record, 1)} }

// puts adds records to the last shard that no reader sees one without the other.
func (s *fakeStream) puts(prefix string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.shards) - 1
	for i := range n {
		s.number++
		key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: prefix + strconv.Itoa(i)}}
		s.shards[last] = append(s.shards[last], types.Record{
			EventName: types.OperationTypeInsert, Dynamodb: &types.StreamRecord{Keys: key, NewImage: key, SequenceNumber: aws.String(fmt.Sprintf("%021d", s.number))},
		})
	}
}

// change changes the stream, or its state, while nobody reads it.
func (s *fakeStream) change(to func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to()
}

// split ends the last shard; another one follows.
func (s *fakeStream) split() { s.change(func() { s.shards = append(s.shards, nil) }) }

// call begins a call on a shard, by its index.
func (s *fakeStream) call(shard string) (index int, err error) {
	s.mu.Lock()
	s.calls++
	if s.down {
		return 0, eventsourcetest.ErrDown
	}
	return strconv.Atoi(cmp.Or(shard, "-1"))
}

// DescribeStream returns one shard a page.
func (s *fakeStream) DescribeStream(_ context.Context, in *dynamodbstreams.DescribeStreamInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	before, err := s.call(aws.ToString(in.ExclusiveStartShardId))
	defer s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	id := aws.String(strconv.Itoa(before + 1))
	described := &types.StreamDescription{Shards: []types.Shard{{ShardId: id}}}
	if before+2 < len(s.shards) {
		described.LastEvaluatedShardId = id
	}
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: described}, nil
}

// GetShardIterator returns the shard, and the number after which is read.
func (s *fakeStream) GetShardIterator(_ context.Context, in *dynamodbstreams.GetShardIteratorInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	shard, err := s.call(*in.ShardId)
	defer s.mu.Unlock()
	after := aws.ToString(in.SequenceNumber)
	if err == nil && after != "" && !slices.ContainsFunc(s.shards[shard], func(r types.Record) bool { return *r.Dynamodb.SequenceNumber == after }) {
		err = &types.TrimmedDataAccessException{}
	}
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: aws.String(*in.ShardId + "|" + after)}, err
}

func (s *fakeStream) GetRecords(_ context.Context, in *dynamodbstreams.GetRecordsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	id, after, _ := strings.Cut(*in.ShardIterator, "|")
	shard, err := s.call(id)
	defer s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	page := slices.DeleteFunc(slices.Clone(s.shards[shard]), func(r types.Record) bool { return *r.Dynamodb.SequenceNumber <= after })
	more := len(page) > pageRecords
	page = page[:min(len(page), pageRecords)]
	if len(page) > 0 {
		after = *page[len(page)-1].Dynamodb.SequenceNumber
	}
	out := &dynamodbstreams.GetRecordsOutput{Records: page}
	if more || shard == len(s.shards)-1 {
		out.NextShardIterator = aws.String(id + "|" + after)
	}
	return out, nil
}

type (
	fakeFunction = eventsourcetest.Function
	batch        = eventsourcetest.Batch
)

func config(t *testing.T, change func(*Config)) Config {
	t.Helper()
	c := Config{
		StreamARN: fakeARN, SourceARN: "arn:source", Function: "F", Region: "us-east-1", Checkpoint: t.TempDir() + "/streams/F.json",
		BatchSize: 100, Window: 50 * time.Millisecond, Parallel: 1,
	}
	if change != nil {
		change(&c)
	}
	return c
}

// play runs a poller in virtual time until story returns, then stops it.
func play(t *testing.T, c Config, s Stream, f *fakeFunction, story func()) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { eventsourcetest.Run(t, poller(t, c, s, f).Run, story) })
}

func poller(t *testing.T, c Config, s Stream, f *fakeFunction) *Poller {
	t.Helper()
	p, err := New(c, s, f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRecordsArriveOnceInBatchesAndInOrder(t *testing.T) {
	s, f := newStream(), &fakeFunction{}
	play(t, config(t, func(c *Config) { c.BatchSize = 400 }), s, f, func() {
		s.puts("a", 1050)
		eventsourcetest.After(time.Second)
		s.puts("b", 1)
		eventsourcetest.After(time.Second)
	})
	if got := f.Sizes(); !slices.Equal(got, []int{400, 400, 250, 1}) {
		t.Errorf("batches of %v", got)
	}
	for i, pk := range f.Keys()[:1050] {
		if pk != fmt.Sprintf("a%d", i) {
			t.Fatalf("record %d is of %s", i, pk)
		}
	}
}

func TestABatchWaitsForItsWindowAtMost(t *testing.T) {
	s, f := newStream(), &fakeFunction{}
	play(t, config(t, func(c *Config) { c.BatchSize, c.Window = 10, 5*time.Second }), s, f, func() {
		s.puts("a", 12)
		for _, step := range []struct {
			after time.Duration
			want  []int
		}{{time.Second, []int{10}}, {3900 * time.Millisecond, []int{10}}, {time.Second, []int{10, 2}}} {
			eventsourcetest.After(step.after)
			if got := f.Sizes(); !slices.Equal(got, step.want) {
				t.Errorf("batches of %v after another %v, want %v", got, step.after, step.want)
			}
		}
	})
}

func TestEverythingFromTheLowestReportedRecordIsRepeated(t *testing.T) {
	s := newStream()
	first := true
	f := &fakeFunction{Answer: func(_ context.Context, b batch) (string, string, error) {
		if first {
			first = false
			return eventsourcetest.Failing(b.IDs[3], b.IDs[1]), "", nil
		}
		return eventsourcetest.Failing(), "", nil
	}}
	play(t, config(t, nil), s, f, func() {
		s.puts("a", 5)
		eventsourcetest.After(time.Minute)
	})
	if got := f.Keys(); !slices.Equal(got, []string{"a0", "a1", "a2", "a3", "a4", "a1", "a2", "a3", "a4"}) {
		t.Errorf("got %v", got)
	}
}

func TestAFailedBatchIsRepeatedWithoutEndAndNothingOvertakesIt(t *testing.T) {
	s := newStream()
	var healthy atomic.Bool
	f := &fakeFunction{Answer: func(_ context.Context, b batch) (string, string, error) {
		if !healthy.Load() {
			return eventsourcetest.Failing(b.IDs[0]), "", nil
		}
		return "", "", nil
	}}
	c := config(t, nil)
	play(t, c, s, f, func() {
		s.puts("a", 2)
		eventsourcetest.After(time.Second)
		s.puts("b", 2)
		eventsourcetest.After(6 * time.Minute)
		n := len(f.Seen())
		if n < 60 || n > 160 {
			t.Errorf("%d invocations in six minutes, want pauses of up to 5 s", n)
		}
		for _, b := range f.Seen() {
			if !slices.Equal(b.Keys, []string{"a0", "a1"}) {
				t.Fatalf("%v ran before the failed batch had succeeded", b.Keys)
			}
		}
		if content, err := os.ReadFile(c.Checkpoint); err == nil {
			t.Errorf("the checkpoint is %s", content)
		}
		healthy.Store(true)
		eventsourcetest.After(20 * time.Second)
	})
	if got := f.Keys(); !slices.Equal(got[len(got)-4:], []string{"a0", "a1", "b0", "b1"}) {
		t.Errorf("at the end %v", got[len(got)-4:])
	}
}

func TestItemsRunAtOnceAndEachInItsOrder(t *testing.T) {
	s := newStream()
	stuck := fmt.Sprintf("%021d", 1) // the first of item0
	f := &fakeFunction{}
	f.Answer = func(_ context.Context, b batch) (string, string, error) {
		time.Sleep(10 * time.Millisecond)
		if slices.Contains(b.IDs, stuck) {
			return eventsourcetest.Failing(stuck), "", nil
		}
		return eventsourcetest.Failing(), "", nil
	}
	c := config(t, func(c *Config) { c.Parallel, c.BatchSize = 3, 7 })
	play(t, c, s, f, func() {
		for range 20 {
			s.puts("item", 12)
		}
		eventsourcetest.After(10 * time.Minute)
	})
	if f.Most() != 3 {
		t.Errorf("%d batches ran at once, want 3", f.Most())
	}
	// The lanes of other items are done, and the progress is not beyond the record that fails.
	seen := map[string]map[string]bool{}
	last := map[string]string{}
	for _, b := range f.Seen() {
		for i, pk := range b.Keys {
			if seen[pk] == nil {
				seen[pk] = map[string]bool{}
			}
			if !seen[pk][b.IDs[i]] && b.IDs[i] < last[pk] {
				t.Errorf("%s: record %s after %s", pk, b.IDs[i], last[pk])
			}
			seen[pk][b.IDs[i]], last[pk] = true, max(last[pk], b.IDs[i])
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
	if done, err := openCheckpoint(c.Checkpoint, fakeARN); err != nil || done.After >= stuck {
		t.Errorf("the checkpoint is %v, %v, beyond %s", done, err, stuck)
	}
}

func TestAProcessThatDiesRepeatsWhatWasNotDoneAndNothingElse(t *testing.T) {
	s := newStream()
	c := config(t, func(c *Config) { c.BatchSize = 2 })
	dead := false
	f := &fakeFunction{}
	f.Answer = func(ctx context.Context, b batch) (string, string, error) {
		if dead = dead || slices.Contains(b.Keys, "a4"); dead {
			<-ctx.Done()
			return "", "", ctx.Err()
		}
		return eventsourcetest.Failing(), "", nil
	}
	play(t, c, s, f, func() {
		s.puts("a", 8)
		eventsourcetest.After(time.Second)
	})
	again := &fakeFunction{}
	play(t, c, s, again, func() { eventsourcetest.After(time.Second) })
	if got := again.Keys(); !slices.Equal(got, []string{"a4", "a5", "a6", "a7"}) {
		t.Errorf("after the restart came %v", got)
	}
	third := &fakeFunction{}
	play(t, c, s, third, func() { eventsourcetest.After(time.Second) })
	if got := third.Keys(); len(got) != 0 {
		t.Errorf("after a restart with nothing new came %v", got)
	}
	c.StreamARN += "9" // the table was created anew
	if p, err := New(c, s, third); err != nil || p.done.position != (position{}) {
		t.Errorf("another stream begins at %+v, %v", p.done, err)
	}
}

func TestStoppingLetsARunningInvocationFinishAndStartsNoOther(t *testing.T) {
	s := newStream()
	f := &fakeFunction{Answer: func(ctx context.Context, _ batch) (string, string, error) {
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
		eventsourcetest.After(time.Second)
	})
	if done, err := openCheckpoint(c.Checkpoint, fakeARN); err != nil || !strings.HasSuffix(done.After, "02") || len(f.Seen()) != 1 {
		t.Errorf("%v, %v after %d batches, want the first one done", done, err, len(f.Seen()))
	}
}

func TestAShardIsReadAfterTheOneBeforeItAcrossRestarts(t *testing.T) {
	s := newStream()
	f := &fakeFunction{Answer: func(context.Context, batch) (string, string, error) {
		time.Sleep(3 * time.Second)
		return "", "", nil
	}}
	c := config(t, func(c *Config) { c.BatchSize = 2 })
	s.puts("a", 5)
	s.split()
	s.puts("b", 1)
	s.split()
	s.puts("c", 1)
	for range 2 {
		play(t, c, s, f, func() { eventsourcetest.After(time.Second) })
	}
	play(t, c, s, f, func() {
		eventsourcetest.After(time.Minute)
		s.split()
		s.puts("d", 1)
		eventsourcetest.After(time.Minute)
	})
	if got := f.Keys(); !slices.Equal(got, []string{"a0", "a1", "a2", "a3", "a4", "b0", "c0", "d0"}) || f.Most() != 1 {
		t.Errorf("got %v, %d at once", got, f.Most())
	}
}

func TestAStreamThatWasDownIsReadOnFromTheOldestRecordThatIsLeft(t *testing.T) {
	for name, kept := range map[string]bool{"nothing was dropped": true, "what was read was dropped": false} {
		s, f := newStream(), &fakeFunction{}
		play(t, config(t, nil), s, f, func() {
			s.puts("a", 1)
			eventsourcetest.After(time.Second)
			before := 0
			s.change(func() { s.down, before = true, s.calls })
			eventsourcetest.After(20 * time.Minute)
			s.change(func() {
				if n := s.calls - before; n < 200 || n > 600 {
					t.Errorf("%d calls in 20 minutes without a stream, want pauses of up to 5 s", n)
				}
				if s.down = false; !kept {
					s.shards[0] = nil
				}
			})
			s.puts("b", 1)
			eventsourcetest.After(10 * time.Second)
		})
		if got := f.Keys(); !slices.Equal(got, []string{"a0", "b0"}) {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestTheEventIsLambdas(t *testing.T) {
	p, err := New(config(t, nil), newStream(), nil)
	if err != nil {
		t.Fatal(err)
	}
	when := time.Unix(1480642020, 7e8)
	r, err := p.record("shard-1", types.Record{
		AwsRegion: aws.String("dynoxide"), EventID: aws.String("f07f"), EventName: types.OperationTypeModify, EventSource: aws.String("aws:dynamodb"),
		EventVersion: aws.String("1.1"),
		Dynamodb: &types.StreamRecord{
			ApproximateCreationDateTime: &when, SequenceNumber: aws.String("1405400000000002063282832"), SizeBytes: aws.Int64(54),
			StreamViewType: types.StreamViewTypeNewAndOldImages,
			Keys:           map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "data"}},
			NewImage: map[string]types.AttributeValue{
				"n": &types.AttributeValueMemberN{Value: "1"}, "b": &types.AttributeValueMemberB{Value: []byte{0, 1, 42, 65}},
				"t":  &types.AttributeValueMemberBOOL{Value: true},
				"ss": &types.AttributeValueMemberSS{Value: []string{"x", "y"}}, "ns": &types.AttributeValueMemberNS{Value: []string{"1"}},
			},
			OldImage: map[string]types.AttributeValue{},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"awsRegion":"us-east-1","dynamodb":{"ApproximateCreationDateTime":1480642020,"Keys":{"pk":{"S":"data"}},` +
		`"NewImage":{"b":{"B":"AAEqQQ=="},"n":{"N":"1"},"ns":{"NS":["1"]},"ss":{"SS":["x","y"]},"t":{"BOOL":true}},` +
		`"OldImage":{},"SequenceNumber":"1405400000000002063282832","SizeBytes":54,"StreamViewType":"NEW_AND_OLD_IMAGES"},` +
		`"eventID":"f07f","eventName":"MODIFY","eventSource":"aws:dynamodb","eventSourceARN":"arn:source","eventVersion":"1.1"}`
	if string(r.json) != want {
		t.Errorf("got  %s\nwant %s", r.json, want)
	}
}
