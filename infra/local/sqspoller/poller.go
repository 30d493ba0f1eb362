// Package sqspoller does what Lambda's event source mapping for SQS does: it receives
// messages in batches, invokes a function with them, and deletes those that the
// function handled.
//
// It uses SQS's client API and Lambda's event and response formats; it neither runs
// functions nor interprets messages. Messages that are not deleted come back after the
// queue's visibility timeout, and go to the dead-letter queue after its receive count:
// the queue does both.
package sqspoller

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/infra/local/eventsource"
	"flashsale/infra/local/template"
)

// Config describes one event source mapping whose function reports the messages of a batch that
// failed.
type Config struct {
	QueueURL  string
	QueueARN  string
	Function  string
	BatchSize int
	// Window is how long a batch may wait to fill after its first message.
	Window time.Duration
	// Concurrency is the number of batches that run at once, at least 1.
	Concurrency int
	Log         *slog.Logger
}

// Poller connects one queue with one function.
type Poller struct {
	c     Config
	queue *sqs.Client
	run   eventsource.Invoker
}

func New(c Config, q *sqs.Client, i eventsource.Invoker) *Poller {
	c.Log = c.Log.With("queue", c.QueueURL, "function", c.Function)
	return &Poller{c: c, queue: q, run: i}
}

// Run polls until ctx ends, then lets the running invocations finish within the grace
// period and returns nil. It retries a queue that cannot be reached.
func (p *Poller) Run(ctx context.Context) error {
	running := eventsource.NewRunning(ctx)
	// Take a slot before receiving messages: a message that waits here would use up its
	// visibility timeout and one of its receives.
	slots := make(chan struct{}, p.c.Concurrency)
	var pause eventsource.Backoff
	for ctx.Err() == nil {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		batch, err := p.gather(ctx)
		if err != nil && ctx.Err() == nil {
			p.c.Log.Warn("receive messages failed", "error", err)
		}
		if len(batch) == 0 {
			<-slots
		} else {
			running.Go(func() {
				defer func() { <-slots }()
				p.handle(running.Context, batch)
			})
		}
		if err == nil {
			pause.Reset()
			continue
		}
		eventsource.Sleep(ctx, pause.Next())
	}
	running.Finish()
	return nil
}

// handle runs one batch and deletes what succeeded.
func (p *Poller) handle(ctx context.Context, batch []types.Message) {
	event := events.SQSEvent{Records: make([]events.SQSMessage, len(batch))}
	ids := make([]string, len(batch))
	for i, m := range batch {
		ids[i], event.Records[i] = aws.ToString(m.MessageId), p.record(m)
	}
	payload, err := json.Marshal(event)
	if err != nil {
		p.c.Log.Error("encode event failed", "error", err)
		return
	}
	failed, err := eventsource.Batch(ctx, p.run, p.c.Function, payload, ids)
	if err != nil {
		p.c.Log.Warn("the batch comes back", "messages", len(batch), "error", err)
		return
	}
	done := slices.DeleteFunc(batch, func(m types.Message) bool { return failed[aws.ToString(m.MessageId)] })
	// SQS deletes ten at a time.
	for chunk := range slices.Chunk(done, mostPerReceive) {
		if err := p.remove(ctx, chunk); err != nil {
			p.c.Log.Warn("delete messages failed, they come back", "error", err)
		}
	}
}

// record is a message as Lambda's event has it.
func (p *Poller) record(m types.Message) events.SQSMessage {
	return events.SQSMessage{
		MessageId: aws.ToString(m.MessageId), ReceiptHandle: aws.ToString(m.ReceiptHandle),
		Body: aws.ToString(m.Body), Md5OfBody: aws.ToString(m.MD5OfBody), Attributes: m.Attributes,
		MessageAttributes: map[string]events.SQSMessageAttribute{}, // nobody here sends any
		EventSourceARN:    p.c.QueueARN, EventSource: "aws:sqs", AWSRegion: template.Region,
	}
}

const (
	// longestPoll is SQS's limit for WaitTimeSeconds.
	longestPoll = 20
	// mostPerReceive is SQS's limit for MaxNumberOfMessages.
	mostPerReceive = 10
	// shortPoll is the interval of the polls when the rest of a window is too short for
	// a long poll. Cancelling a long poll instead would lose, for a whole visibility
	// timeout, the messages that the queue is just delivering.
	shortPoll = 100 * time.Millisecond
)

// gather returns the next batch: empty if a long poll ended without a message, and
// possibly not empty together with an error.
func (p *Poller) gather(ctx context.Context) ([]types.Message, error) {
	batch, err := p.receive(ctx, p.c.BatchSize, longestPoll)
	if len(batch) == 0 || err != nil {
		return batch, err
	}
	end := time.Now().Add(p.c.Window)
	for len(batch) < p.c.BatchSize && ctx.Err() == nil {
		left := time.Until(end)
		if left <= 0 {
			break
		}
		wait := min(int32(left/time.Second), longestPoll)
		more, err := p.receive(ctx, p.c.BatchSize-len(batch), wait)
		batch = append(batch, more...)
		if err != nil {
			return batch, err
		}
		if len(more) == 0 && wait == 0 {
			eventsource.Sleep(ctx, min(shortPoll, time.Until(end)))
		}
	}
	return batch, nil
}

func (p *Poller) receive(ctx context.Context, most int, waitSeconds int32) ([]types.Message, error) {
	out, err := p.queue.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl:                    &p.c.QueueURL,
		MaxNumberOfMessages:         int32(min(most, mostPerReceive)),
		WaitTimeSeconds:             waitSeconds,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		return nil, err
	}
	return out.Messages, nil
}

// mostDeletes is how often a message's deletion is tried. Giving up is safe but
// wasteful: the message comes back and its function must detect the duplicate (P9).
const mostDeletes = 3

// remove deletes up to ten messages. A handle that SQS refuses is not tried again.
func (p *Poller) remove(ctx context.Context, messages []types.Message) error {
	in := &sqs.DeleteMessageBatchInput{QueueUrl: &p.c.QueueURL}
	for i, m := range messages {
		in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: m.ReceiptHandle})
	}
	var pause eventsource.Backoff
	for try := 1; ; try++ {
		out, err := p.queue.DeleteMessageBatch(ctx, in)
		switch {
		case err == nil && len(out.Failed) > 0:
			return fmt.Errorf("%s: %s", aws.ToString(out.Failed[0].Code), aws.ToString(out.Failed[0].Message))
		case err == nil || try == mostDeletes:
			return err
		}
		eventsource.Sleep(ctx, pause.Next())
	}
}
