package handler

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Invoke implements Lambda's Handler: Handle with JSON in and out. It fails if payload
// is not a batch of messages.
func (h *Handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	batch, err := decode(payload)
	if err != nil {
		_, cancel, event := h.log.Begin(ctx)
		defer cancel()
		end(ctx, event, 0, 0, err)
		return nil, err
	}
	answer, err := h.Handle(ctx, batch)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

// decode reads what Handle uses: the messages' ids and bodies. Invalid UTF-8 is replaced, so that it makes its message
// poison and does not affect the others (P10).
func decode(payload []byte) (batch events.SQSEvent, err error) {
	var read struct {
		Records []struct {
			MessageID string `json:"messageId"`
			Body      string `json:"body"`
		}
	}
	if err := jsonv2.Unmarshal(payload, &read, jsontext.AllowInvalidUTF8(true)); err != nil {
		return batch, fmt.Errorf("decode batch: %w", err)
	}
	batch.Records = make([]events.SQSMessage, len(read.Records))
	for i, m := range read.Records {
		batch.Records[i].MessageId, batch.Records[i].Body = m.MessageID, m.Body
	}
	return batch, nil
}
