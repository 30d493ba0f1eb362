package handler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"flashsale/shared/sale"
)

const (
	// sendTimeout bounds one SendMessage: the SDK itself has no limit.
	sendTimeout = time.Second
	// maxRecord is the longest record that is stored whole, in bytes; SQS takes messages
	// of 1 MiB. The items of the ledger are far smaller.
	maxRecord = 900 << 10
)

// SQS is the part of the SQS client that a failure queue uses.
type SQS interface {
	SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
}

// FailureQueue is the queue of the records that cannot be published.
type FailureQueue struct {
	api SQS
	url string
}

// NewFailureQueue returns the queue with that URL.
func NewFailureQueue(api SQS, url string) *FailureQueue { return &FailureQueue{api, url} }

// FailureQueueFromEnv returns the queue at FAILURE_QUEUE_URL. It fails if that is not set
// (P19). The client makes one attempt per call: Lambda repeats the batch.
func FailureQueueFromEnv(cfg aws.Config) (*FailureQueue, error) {
	url := os.Getenv("FAILURE_QUEUE_URL")
	if url == "" {
		return nil, errors.New("FAILURE_QUEUE_URL is not set")
	}
	return NewFailureQueue(sqs.NewFromConfig(cfg, func(o *sqs.Options) { o.Retryer = aws.NopRetryer{} }), url), nil
}

// Send stores a record with the code and the text of its error. Of a record that is too
// long for a message only the beginning is stored, as a string.
func (q *FailureQueue) Send(ctx context.Context, record json.RawMessage, cause error) error {
	stored := struct {
		Code      sale.Code      `json:"code"`
		Error     string         `json:"error"`
		Record    jsontext.Value `json:"record,omitzero"`
		Beginning string         `json:"beginning,omitzero"`
	}{Code: sale.CodeOf(cause), Error: cause.Error()}
	if len(record) <= maxRecord {
		stored.Record = jsontext.Value(record)
	} else {
		stored.Beginning = string(record[:maxRecord/8]) // a byte may take six as JSON
	}
	body, err := jsonv2.Marshal(stored, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err != nil {
		return fmt.Errorf("store a record that cannot be published: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	_, err = q.api.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: aws.String(string(body))})
	if err != nil {
		return sale.Fail(sale.Busy, fmt.Errorf("store a record that cannot be published: %w", err))
	}
	return nil
}
