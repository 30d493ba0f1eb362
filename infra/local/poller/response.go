package poller

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// succeeded reads a response as ReportBatchItemFailures defines it and returns
// the messages that are not reported. An error means that the whole batch
// counts as failed: the Lambda Developer Guide lists these cases.
//
// Names are case-sensitive, unlike encoding/json's struct fields: Lambda would ignore a
// misspelt list and count every message as done.
func succeeded(batch []types.Message, response []byte) ([]types.Message, error) {
	if len(bytes.TrimSpace(response)) == 0 {
		return batch, nil
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(response, &top); err != nil {
		return nil, fmt.Errorf("read batch response: %w", err)
	}
	list, ok := top["batchItemFailures"]
	if !ok {
		return batch, nil
	}
	var items []map[string]json.RawMessage
	if err := json.Unmarshal(list, &items); err != nil {
		return nil, fmt.Errorf("read batchItemFailures: %w", err)
	}
	known := make(map[string]bool, len(batch))
	for _, m := range batch {
		known[aws.ToString(m.MessageId)] = true
	}
	failed := make(map[string]bool, len(items))
	for i, item := range items {
		var id string
		if raw, ok := item["itemIdentifier"]; ok {
			if err := json.Unmarshal(raw, &id); err != nil {
				return nil, fmt.Errorf("read itemIdentifier %d: %w", i, err)
			}
		}
		if !known[id] {
			return nil, fmt.Errorf("read itemIdentifier %d: %q is not in the batch", i, id)
		}
		failed[id] = true
	}
	var done []types.Message
	for _, m := range batch {
		if !failed[aws.ToString(m.MessageId)] {
			done = append(done, m)
		}
	}
	return done, nil
}
