// Package orderq is the order message: what travels from an accepted claim to
// the function that confirms it.
//
// It contains the message's format and two calls of SQS. The message names a claim
// and nothing else; the truth about it stays in the table, so a message may come
// twice, late, out of order or not at all.
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

// API is what a Sender needs of the SQS client; only Depth uses the second.
type API interface {
	SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
	GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error)
}

// Sender sends order messages to one queue.
type Sender struct {
	api API
	url string
}

// NewSender sends to the queue of that URL.
func NewSender(api API, url string) *Sender { return &Sender{api: api, url: url} }

// FromEnv sends to the queue named by ORDER_QUEUE_URL; without it, it fails, so
// that a misconfigured function dies at its start (P19). The client makes one
// attempt per call: a lost message is sent again from the table.
func FromEnv(cfg aws.Config) (*Sender, error) {
	url := os.Getenv("ORDER_QUEUE_URL")
	if url == "" {
		return nil, errors.New("ORDER_QUEUE_URL is not set")
	}
	client := sqs.NewFromConfig(cfg, func(o *sqs.Options) {
		o.Retryer = aws.NopRetryer{}
		o.EndpointResolverV2 = &resolver{own: o.EndpointResolverV2}
	})
	return NewSender(client, url), nil
}

// Send hands one message to SQS, with at most a second of patience. After an
// error the message may nevertheless have been sent; a second one does no harm
// (P9).
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

// depths are the counts that together are every message of a queue.
var depths = []types.QueueAttributeName{
	types.QueueAttributeNameApproximateNumberOfMessages,
	types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
	types.QueueAttributeNameApproximateNumberOfMessagesDelayed,
}

// Depth is about how many messages the queue holds, in flight and delayed ones
// included.
func (s *Sender) Depth(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	out, err := s.api.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: aws.String(s.url), AttributeNames: depths})
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
