package sqspoller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/infra/local/eventsource"
	"flashsale/infra/local/eventsource/eventsourcetest"
)

const visibility = 30 * time.Second

// began is when virtual time begins.
var began = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

type stored struct {
	id, handle string
	visibleAt  time.Time
	receives   int
}

// fakeQueue keeps SQS's rules: at most ten messages a receive, a visibility
// timeout, and a new receipt handle with each receive.
type fakeQueue struct {
	mu         sync.Mutex
	messages   []*stored
	receives   int
	down       bool
	failDelete int
	sent       int
}

func (q *fakeQueue) send(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for range n {
		q.sent++
		q.messages = append(q.messages, &stored{id: fmt.Sprintf("m%d", q.sent)})
	}
}

func (q *fakeQueue) left() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	var ids []string
	for _, m := range q.messages {
		ids = append(ids, m.id)
	}
	return ids
}

func (q *fakeQueue) inFlight() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, m := range q.messages {
		if m.visibleAt.After(time.Now()) {
			n++
		}
	}
	return n
}

func (q *fakeQueue) setDown(down bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.down = down
}

func (q *fakeQueue) calls() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.receives
}

func (q *fakeQueue) take(most int) ([]types.Message, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.down {
		return nil, eventsourcetest.ErrDown
	}
	var out []types.Message
	for _, m := range q.messages {
		if len(out) == most || m.visibleAt.After(time.Now()) {
			continue
		}
		m.receives++
		m.handle = fmt.Sprintf("%s/%d", m.id, m.receives)
		m.visibleAt = time.Now().Add(visibility)
		out = append(out, types.Message{MessageId: aws.String(m.id), ReceiptHandle: aws.String(m.handle), Body: aws.String("body of " + m.id)})
	}
	return out, nil
}

func (q *fakeQueue) ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, _ ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	q.mu.Lock()
	q.receives++
	q.mu.Unlock()
	if in.MaxNumberOfMessages < 1 || in.MaxNumberOfMessages > 10 || in.WaitTimeSeconds < 0 || in.WaitTimeSeconds > 20 {
		return nil, errors.New("value out of range")
	}
	end := time.Now().Add(time.Duration(in.WaitTimeSeconds) * time.Second)
	for {
		messages, err := q.take(int(in.MaxNumberOfMessages))
		if err != nil || len(messages) > 0 || !time.Now().Before(end) {
			return &sqs.ReceiveMessageOutput{Messages: messages}, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (q *fakeQueue) DeleteMessageBatch(ctx context.Context, in *sqs.DeleteMessageBatchInput, _ ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(in.Entries) < 1 || len(in.Entries) > 10 {
		return nil, errors.New("batch of the wrong size")
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.failDelete > 0 {
		q.failDelete--
		return nil, eventsourcetest.ErrDown
	}
	out := &sqs.DeleteMessageBatchOutput{}
	for _, e := range in.Entries {
		i := slices.IndexFunc(q.messages, func(m *stored) bool { return m.handle == aws.ToString(e.ReceiptHandle) })
		if i < 0 {
			out.Failed = append(out.Failed, types.BatchResultErrorEntry{Id: e.Id, Code: aws.String("ReceiptHandleIsInvalid"), SenderFault: true})
			continue
		}
		q.messages = slices.Delete(q.messages, i, i+1)
	}
	return out, nil
}

type (
	fakeFunction = eventsourcetest.Function
	batch        = eventsourcetest.Batch
)

// play runs a poller in virtual time until story returns, then stops it.
func play(t *testing.T, c Config, q *fakeQueue, f *fakeFunction, story func()) {
	t.Helper()
	c.QueueURL, c.QueueARN, c.Function, c.Region = "url", "arn", "F", "us-east-1"
	eventsourcetest.Play(t, New(c, q, f).Run, story)
}

func TestAFullBatchDoesNotWaitForItsWindow(t *testing.T) {
	q, f := &fakeQueue{}, &fakeFunction{}
	q.send(60)
	play(t, Config{BatchSize: 25, Window: 5 * time.Second, Concurrency: 5}, q, f, func() {
		eventsourcetest.After(time.Millisecond)
		if got := f.Sizes(); !slices.Equal(got, []int{25, 25}) {
			t.Errorf("batches of %v ran at once, want two full ones", got)
		}
		eventsourcetest.After(6 * time.Second)
		if got := f.Sizes(); !slices.Equal(got, []int{25, 25, 10}) {
			t.Errorf("batches of %v ran, want the rest after the window", got)
		}
	})
	if got := q.left(); len(got) != 0 {
		t.Errorf("%v stayed in the queue", got)
	}
}

func TestABatchRunsWhenItsWindowEnds(t *testing.T) {
	q, f := &fakeQueue{}, &fakeFunction{}
	play(t, Config{BatchSize: 25, Window: 2500 * time.Millisecond, Concurrency: 1}, q, f, func() {
		q.send(1)
		eventsourcetest.After(time.Second)
		q.send(2)
		eventsourcetest.After(time.Second)
		if got := f.Seen(); len(got) != 0 {
			t.Errorf("%v ran inside the window", got)
		}
		eventsourcetest.After(time.Second)
	})
	got := f.Seen()
	if len(got) != 1 || len(got[0].IDs) != 3 || got[0].At.Before(began.Add(2500*time.Millisecond)) || got[0].At.After(began.Add(2700*time.Millisecond)) {
		t.Errorf("got %v, want one batch of 3 after 2.5 s", got)
	}
}

func TestWithoutAWindowABatchIsWhatOneReceiveGives(t *testing.T) {
	q, f := &fakeQueue{}, &fakeFunction{}
	q.send(12)
	play(t, Config{BatchSize: 10, Concurrency: 3}, q, f, func() { eventsourcetest.After(time.Millisecond) })
	got := f.Sizes()
	slices.Sort(got)
	if !slices.Equal(got, []int{2, 10}) {
		t.Errorf("batches of %v, want 10 and 2", got)
	}
}

func TestReportedMessagesComeBackAfterTheirVisibilityTimeoutAndOthersDoNot(t *testing.T) {
	q := &fakeQueue{}
	first := true
	f := &fakeFunction{Answer: func(_ context.Context, b batch) (string, string, error) {
		if first {
			first = false
			return eventsourcetest.Failing(b.IDs[1]), "", nil
		}
		return eventsourcetest.Failing(), "", nil
	}}
	q.send(3)
	play(t, Config{BatchSize: 10, Concurrency: 1}, q, f, func() {
		eventsourcetest.After(visibility - time.Second)
		if got := q.left(); !slices.Equal(got, []string{"m2"}) {
			t.Errorf("%v left, want only the reported message", got)
		}
		eventsourcetest.After(2 * time.Second)
	})
	got := f.Seen()
	if len(got) != 2 || !slices.Equal(got[1].IDs, []string{"m2"}) || got[1].At.Before(began.Add(visibility)) {
		t.Errorf("batches %v, want m2 again after %v", got, visibility)
	}
	if left := q.left(); len(left) != 0 {
		t.Errorf("%v left, want none", left)
	}
}

func TestNothingIsDeletedWhenTheWholeBatchFails(t *testing.T) {
	for name, answer := range map[string]func(context.Context, batch) (string, string, error){
		"a function error": func(context.Context, batch) (string, string, error) {
			return eventsourcetest.Failing(), "Unhandled", nil
		},
		"an invocation that did not happen": func(context.Context, batch) (string, string, error) {
			return "", "", errors.New("throttled")
		},
		"a response that is not JSON": func(context.Context, batch) (string, string, error) {
			return "{", "", nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			q, f := &fakeQueue{}, &fakeFunction{Answer: answer}
			q.send(4)
			play(t, Config{BatchSize: 10, Concurrency: 2}, q, f, func() { eventsourcetest.After(visibility + time.Second) })
			if left := q.left(); len(left) != 4 {
				t.Errorf("%v left, want all four", left)
			}
			if got := f.Sizes(); !slices.Equal(got, []int{4, 4}) {
				t.Errorf("batches of %v, want the same again after the visibility timeout", got)
			}
		})
	}
}

func TestNoMessageIsReceivedBeforeItCanRun(t *testing.T) {
	q := &fakeQueue{}
	f := &fakeFunction{Answer: func(context.Context, batch) (string, string, error) {
		time.Sleep(3 * time.Second)
		return "", "", nil
	}}
	q.send(50)
	play(t, Config{BatchSize: 10, Concurrency: 2}, q, f, func() {
		eventsourcetest.After(time.Second)
		if got := q.inFlight(); got != 20 {
			t.Errorf("%d messages in flight, want the 20 that are running", got)
		}
		eventsourcetest.After(20 * time.Second)
	})
	if f.Most() != 2 || len(q.left()) != 0 {
		t.Errorf("%d batches at once and %d messages left, want 2 and 0", f.Most(), len(q.left()))
	}
}

func TestAnEngineThatIsDownIsAskedAgainWithGrowingPauses(t *testing.T) {
	q, f := &fakeQueue{}, &fakeFunction{}
	q.setDown(true)
	play(t, Config{BatchSize: 10, Concurrency: 1}, q, f, func() {
		eventsourcetest.After(time.Minute)
		if got := q.calls(); got < 12 || got > 40 {
			t.Errorf("%d receives in a minute without an engine, want pauses up to %v", got, eventsource.LastPause)
		}
		q.send(1)
		q.setDown(false)
		eventsourcetest.After(eventsource.LastPause)
	})
	if left := q.left(); len(left) != 0 {
		t.Errorf("%v left after the engine came back", left)
	}
}

func TestADeletionThatFailedIsTriedAgain(t *testing.T) {
	q, f := &fakeQueue{failDelete: 2}, &fakeFunction{}
	q.send(1)
	play(t, Config{BatchSize: 1, Concurrency: 1}, q, f, func() { eventsourcetest.After(5 * time.Second) })
	if left, runs := q.left(), len(f.Seen()); len(left) != 0 || runs != 1 {
		t.Errorf("%v left after %d runs, want it deleted after one", left, runs)
	}
}

func TestStoppingLetsARunningInvocationFinishAndDeletesItsMessages(t *testing.T) {
	q := &fakeQueue{}
	f := &fakeFunction{Answer: func(ctx context.Context, _ batch) (string, string, error) {
		select {
		case <-time.After(5 * time.Second):
			return "", "", nil
		case <-ctx.Done():
			return "", "", ctx.Err()
		}
	}}
	q.send(15)
	play(t, Config{BatchSize: 10, Concurrency: 1}, q, f, func() { eventsourcetest.After(time.Second) })
	if left, runs := len(q.left()), len(f.Seen()); left != 5 || runs != 1 {
		t.Errorf("%d messages left after %d runs, want the 5 that were never received", left, runs)
	}
}

func TestStoppingAbandonsAnInvocationAfterTheGracePeriod(t *testing.T) {
	q := &fakeQueue{}
	var waited time.Duration
	f := &fakeFunction{Answer: func(ctx context.Context, _ batch) (string, string, error) {
		began := time.Now()
		<-ctx.Done()
		waited = time.Since(began)
		return "", "", ctx.Err()
	}}
	q.send(1)
	play(t, Config{BatchSize: 10, Concurrency: 1}, q, f, func() { eventsourcetest.After(time.Second) })
	if waited != 11*time.Second {
		t.Errorf("the invocation went on for %v, want 1 s and the grace period of 10 s", waited)
	}
	if left := len(q.left()); left != 1 {
		t.Errorf("%d messages left, want the unfinished one", left)
	}
}

func TestStoppingInsideAWindowRunsWhatWasReceived(t *testing.T) {
	q, f := &fakeQueue{}, &fakeFunction{}
	q.send(2)
	play(t, Config{BatchSize: 25, Window: time.Minute, Concurrency: 1}, q, f, func() { eventsourcetest.After(time.Second) })
	if left, runs := len(q.left()), len(f.Seen()); left != 0 || runs != 1 {
		t.Errorf("%d messages left after %d runs, want none after one", left, runs)
	}
}
