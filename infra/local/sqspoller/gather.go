package sqspoller

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/infra/local/eventsource"
)

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
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		return nil, err
	}
	return out.Messages, nil
}
