package sqspoller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/infra/local/eventsource"
)

// mostDeletes is how often a message's deletion is tried. Giving up is safe but
// wasteful: the message comes back and its function must detect the duplicate (P9).
const mostDeletes = 3

// remove deletes messages, ten at a time, SQS's limit.
func (p *Poller) remove(ctx context.Context, messages []types.Message) error {
	var problems []error
	for chunk := range slices.Chunk(messages, mostPerReceive) {
		if err := p.removeTen(ctx, chunk); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

func (p *Poller) removeTen(ctx context.Context, messages []types.Message) error {
	var pause eventsource.Backoff
	var err error
	for try := range mostDeletes {
		if try > 0 {
			eventsource.Sleep(ctx, pause.Next())
		}
		entries := make([]types.DeleteMessageBatchRequestEntry, len(messages))
		for i, m := range messages {
			entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: m.ReceiptHandle}
		}
		var out *sqs.DeleteMessageBatchOutput
		out, err = p.queue.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &p.c.QueueURL, Entries: entries})
		if err != nil {
			err = fmt.Errorf("delete %d messages: %w", len(messages), err)
			continue
		}
		var again []types.Message
		for _, failed := range out.Failed {
			err = fmt.Errorf("delete message: %s: %s", aws.ToString(failed.Code), aws.ToString(failed.Message))
			i, wrong := strconv.Atoi(aws.ToString(failed.Id))
			// Do not retry a receipt handle that SQS reports as a sender fault.
			if wrong == nil && i >= 0 && i < len(messages) && !failed.SenderFault {
				again = append(again, messages[i])
			}
		}
		if len(again) == 0 {
			return err
		}
		messages = again
	}
	return err
}
