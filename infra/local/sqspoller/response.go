package sqspoller

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/infra/local/eventsource"
)

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
