package eventsource

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Failures reads a response as ReportBatchItemFailures defines it and returns the ids that it
// reports, of those in the batch. An error means that the whole batch counts as failed: the
// Lambda Developer Guide lists these cases.
//
// Names are case-sensitive, unlike encoding/json's struct fields: Lambda would ignore a
// misspelt list and count everything as done.
func Failures(response []byte, batch map[string]bool) (map[string]bool, error) {
	if len(bytes.TrimSpace(response)) == 0 {
		return nil, nil
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(response, &top); err != nil {
		return nil, fmt.Errorf("read batch response: %w", err)
	}
	list, ok := top["batchItemFailures"]
	if !ok {
		return nil, nil
	}
	var items []map[string]json.RawMessage
	if err := json.Unmarshal(list, &items); err != nil {
		return nil, fmt.Errorf("read batchItemFailures: %w", err)
	}
	failed := make(map[string]bool, len(items))
	for i, item := range items {
		var id string
		if raw, ok := item["itemIdentifier"]; ok {
			if err := json.Unmarshal(raw, &id); err != nil {
				return nil, fmt.Errorf("read itemIdentifier %d: %w", i, err)
			}
		}
		if !batch[id] {
			return nil, fmt.Errorf("read itemIdentifier %d: %q is not in the batch", i, id)
		}
		failed[id] = true
	}
	return failed, nil
}
