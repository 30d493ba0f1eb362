package handler

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/shared/jsonread"
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

// decode reads what Handle uses: the messages' ids and bodies, the smaller part of an
// event. Invalid UTF-8 makes that message poison and does not affect the others (P10).
func decode(payload []byte) (batch events.SQSEvent, err error) {
	err = jsonread.Read(payload, func(r *jsonread.Reader) error {
		return r.Object(func(name []byte) error {
			if string(name) != "Records" {
				return r.Skip()
			}
			batch.Records = make([]events.SQSMessage, 0, len(payload)/leastMessage+1)
			return r.Array(func() error {
				batch.Records = append(batch.Records, events.SQSMessage{})
				return readMessage(r, &batch.Records[len(batch.Records)-1])
			})
		})
	})
	if err != nil {
		return events.SQSEvent{}, fmt.Errorf("decode batch: %w", err)
	}
	return batch, nil
}

// leastMessage is about the length of the shortest message that SQS delivers, in
// bytes.
const leastMessage = 512

func readMessage(r *jsonread.Reader, m *events.SQSMessage) error {
	return r.Object(func(name []byte) (err error) {
		switch string(name) {
		case "messageId":
			m.MessageId, _, err = r.Text()
		case "body":
			m.Body, _, err = r.Text()
		default:
			err = r.Skip()
		}
		return err
	})
}
