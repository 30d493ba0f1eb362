package handler

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Invoke implements Lambda's handler: Handle with JSON on both sides. It fails
// if payload is not a batch of messages.
func (h *Handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	batch, err := decode(payload)
	if err != nil {
		return nil, err
	}
	answer, err := h.Handle(ctx, batch)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

// decode reads what Handle looks at: the messages' ids and bodies. A whole
// message costs as much to decode as a few of its bodies.
func decode(payload []byte) (events.SQSEvent, error) {
	var read struct {
		Records []struct {
			MessageID string `json:"messageId"`
			Body      string `json:"body"`
		}
	}
	if err := jsonv2.Unmarshal(payload, &read, jsontext.AllowInvalidUTF8(true)); err != nil {
		return events.SQSEvent{}, fmt.Errorf("decode batch: %w", err)
	}
	batch := events.SQSEvent{Records: make([]events.SQSMessage, len(read.Records))}
	for i, m := range read.Records {
		batch.Records[i] = events.SQSMessage{MessageId: m.MessageID, Body: m.Body}
	}
	return batch, nil
}
