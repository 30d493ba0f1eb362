// Package orderq is the order message: what travels from an accepted claim to
// the function that confirms it.
//
// It contains the message's format and two SQS calls. The message names a claim and
// nothing else; the truth about it stays in the table, so a message may come twice,
// late, out of order or not at all.
package orderq

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// sendTimeout bounds one SendMessage: the SDK itself has no limit.
const sendTimeout = time.Second

// API is the part of the SQS client that a Sender uses; only Depth uses the second
// method.
type API interface {
	SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
	GetQueueAttributes(
		context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options),
	) (*sqs.GetQueueAttributesOutput, error)
}

// Sender sends order messages to one queue.
type Sender struct {
	api API
	url string
}

// NewSender returns a sender to the queue with that URL.
func NewSender(api API, url string) *Sender { return &Sender{api: api, url: url} }

// FromEnv returns a sender to the queue at ORDER_QUEUE_URL. It fails if that is not
// set, so that a misconfigured function fails at start (P19). The client makes one
// attempt per call: a lost message is resent from the table.
func FromEnv(cfg aws.Config) (*Sender, error) {
	url := os.Getenv("ORDER_QUEUE_URL")
	if url == "" {
		return nil, errors.New("ORDER_QUEUE_URL is not set")
	}
	return NewSender(sqs.NewFromConfig(cfg, func(o *sqs.Options) { o.Retryer = aws.NopRetryer{} }), url), nil
}

// Send sends one message to SQS, within a second. After an error the message may still
// have been sent; a duplicate does no harm (P9).
func (s *Sender) Send(ctx context.Context, m Message) error {
	body := Encode(m)
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	_, err := s.api.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl:    &s.url,
		MessageBody: &body,
	})
	if err != nil {
		return fmt.Errorf("send order message: %w", err)
	}
	return nil
}

// depths are the attributes that together count every message of a queue.
var depths = []types.QueueAttributeName{
	types.QueueAttributeNameApproximateNumberOfMessages,
	types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
	types.QueueAttributeNameApproximateNumberOfMessagesDelayed,
}

// Depth returns the approximate number of messages in the queue, including those in
// flight and delayed.
func (s *Sender) Depth(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	out, err := s.api.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: aws.String(s.url), AttributeNames: depths,
	})
	if err != nil {
		return 0, fmt.Errorf("count order messages: %w", err)
	}
	total := 0
	for _, name := range depths {
		n, err := strconv.Atoi(out.Attributes[string(name)])
		if err != nil {
			return 0, fmt.Errorf("count order messages: %s: %w", name, err)
		}
		total += n
	}
	return total, nil
}
