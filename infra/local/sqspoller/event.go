package sqspoller

import (
	"encoding/json"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/infra/local/eventsource"
)

// encode returns Lambda's event for a batch.
func encode(batch []types.Message, queueARN, region string) ([]byte, error) {
	event := events.SQSEvent{Records: make([]events.SQSMessage, 0, len(batch))}
	for _, m := range batch {
		record := events.SQSMessage{
			MessageId:         aws.ToString(m.MessageId),
			ReceiptHandle:     aws.ToString(m.ReceiptHandle),
			Body:              aws.ToString(m.Body),
			Md5OfBody:         aws.ToString(m.MD5OfBody),
			Attributes:        m.Attributes,
			MessageAttributes: map[string]events.SQSMessageAttribute{}, // nobody here sends any
			EventSourceARN:    queueARN,
			EventSource:       "aws:sqs",
			AWSRegion:         region,
		}
		event.Records = append(event.Records, record)
	}
	return json.Marshal(event)
}

// succeeded returns the messages that the response does not report as failed. An error means
// that the whole batch counts as failed.
func succeeded(batch []types.Message, response []byte) ([]types.Message, error) {
	known := make(map[string]bool, len(batch))
	for _, m := range batch {
		known[aws.ToString(m.MessageId)] = true
	}
	failed, err := eventsource.Failures(response, known)
	if err != nil {
		return nil, err
	}
	var done []types.Message
	for _, m := range batch {
		if !failed[aws.ToString(m.MessageId)] {
			done = append(done, m)
		}
	}
	return done, nil
}
