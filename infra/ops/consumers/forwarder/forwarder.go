package main

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"flashsale/infra/kit/eventwebhook"
)

const (
	// tryFor is for how long an event is tried after its first try.
	tryFor = 3 * 24 * time.Hour
	// Bounds of the wait until the next try. SQS hides a message for at most twelve hours after it was received, and
	// counts them anew whenever it is received again.
	shortestWait, longestWait = 5 * time.Second, 6 * time.Hour
)

// queue is the part of SQS's client that a forwarder uses.
type queue interface {
	ChangeMessageVisibility(context.Context, *sqs.ChangeMessageVisibilityInput, ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error)
	SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
}

// forwarder delivers the events in a queue to one receiver.
type forwarder struct {
	queue                   queue
	queueURL, deadLetterURL string
	receiver                *eventwebhook.Receiver
	now                     func() time.Time
	random                  func() float64 // uniform in [0,1)
	log                     *slog.Logger
}

// handle tries each event of the batch once, side by side. What it reports as failed comes back: after the wait that
// it has set, or after the queue's own visibility timeout if that was not possible.
func (f *forwarder) handle(ctx context.Context, batch events.SQSEvent) (events.SQSEventResponse, error) {
	isDone := make([]bool, len(batch.Records))
	var tries sync.WaitGroup
	for i, m := range batch.Records {
		tries.Go(func() { isDone[i] = f.forward(ctx, m) })
	}
	tries.Wait()
	var r events.SQSEventResponse
	for i, m := range batch.Records {
		if !isDone[i] {
			r.BatchItemFailures = append(r.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		}
	}
	return r, nil
}

// forward tries to deliver an event. It reports whether the queue may forget it: the receiver or the dead-letter queue
// has it.
func (f *forwarder) forward(ctx context.Context, m events.SQSMessage) (done bool) {
	message, err := eventwebhook.Read([]byte(m.Body))
	log := f.log.With("event", message.ID, "receives", m.Attributes["ApproximateReceiveCount"])
	if err != nil {
		return f.giveUp(ctx, m, log.With("error", err.Error()))
	}
	began := f.now()
	answer := f.receiver.Send(ctx, message, began)
	now := f.now()
	log = log.With("status", answer.Status, "answer", answer.Text, "durationMs", now.Sub(began).Milliseconds())
	age := now.Sub(firstReceived(m, now))
	switch {
	case answer.IsAccepted():
		log.Info("delivered")
		return true
	case answer.IsGone() || age >= tryFor:
		return f.giveUp(ctx, m, log)
	}
	wait := f.wait(age, answer.RetryAfter)
	log = log.With("waitSeconds", int64(wait/time.Second))
	if _, err := f.queue.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &f.queueURL, ReceiptHandle: &m.ReceiptHandle, VisibilityTimeout: int32(wait / time.Second),
	}); err != nil {
		log = log.With("error", err.Error())
	}
	log.Warn("not delivered")
	return false
}

// wait is how long an event waits until its next try: as long as it has waited since its first try, less up to a fifth by chance, so
// that what failed together is not repeated together; or as long as the receiver asks. The last try is when tryFor is over.
func (f *forwarder) wait(age, asked time.Duration) time.Duration {
	wait := time.Duration(float64(min(age, longestWait)) * (1 - f.random()/5))
	return max(shortestWait, min(max(wait, asked), longestWait, tryFor-age))
}

// giveUp puts an event into the dead-letter queue, where its alarm tells of it.
func (f *forwarder) giveUp(ctx context.Context, m events.SQSMessage, log *slog.Logger) (done bool) {
	_, err := f.queue.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &f.deadLetterURL, MessageBody: &m.Body})
	if err != nil {
		log = log.With("queueError", err.Error())
	}
	log.Error("given up", "isInDeadLetterQueue", err == nil)
	return err == nil
}

// firstReceived is when the message was received for the first time. Time before that, in a queue with many others, is
// no time of the receiver's.
func firstReceived(m events.SQSMessage, now time.Time) time.Time {
	millis, err := strconv.ParseInt(m.Attributes["ApproximateFirstReceiveTimestamp"], 10, 64)
	if err != nil {
		return now
	}
	return time.UnixMilli(millis)
}
