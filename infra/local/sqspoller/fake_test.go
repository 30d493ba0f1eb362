package sqspoller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const visibility = 30 * time.Second

var errDown = errors.New("engine is down")

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
		return nil, errDown
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
		return nil, errDown
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

// fakeFunction records its batches and answers with what answer says.
type fakeFunction struct {
	start  time.Time
	answer func(ctx context.Context, ids []string) (response, functionError string, err error)

	mu      sync.Mutex
	batches []batch
	running int
	most    int
}

type batch struct {
	at  time.Duration
	ids []string
}

func (f *fakeFunction) Invoke(ctx context.Context, _ string, payload []byte) ([]byte, string, error) {
	var event events.SQSEvent
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, "", err
	}
	var ids []string
	for _, r := range event.Records {
		ids = append(ids, r.MessageId)
	}
	f.mu.Lock()
	f.batches = append(f.batches, batch{at: time.Since(f.start), ids: ids})
	f.running++
	f.most = max(f.most, f.running)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.running--
		f.mu.Unlock()
	}()
	if f.answer == nil {
		return []byte("null"), "", nil
	}
	response, functionError, err := f.answer(ctx, ids)
	return []byte(response), functionError, err
}

func (f *fakeFunction) seen() []batch {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.batches)
}
