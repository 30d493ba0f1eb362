package handler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/go-json-experiment/json/jsontext"
)

// Invoke implements Lambda's handler: Handle with JSON on both sides. It fails
// if payload is not a batch of messages.
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

// decode reads what Handle looks at: the messages' ids and bodies. That is the
// smaller part of an event, and a decoder into structs costs more than everything
// else that is done for a message: so it is read token by token.
func decode(payload []byte) (events.SQSEvent, error) {
	d := decoder{Decoder: jsontext.NewDecoder(bytes.NewBuffer(payload),
		jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))}
	d.texts.Grow(len(payload) / 4)
	var batch events.SQSEvent
	err := d.object(func(name []byte) (err error) {
		if string(name) != `"Records"` {
			return d.skip()
		}
		batch.Records, err = d.records(len(payload)/leastMessage + 1)
		return err
	})
	if err == nil {
		if _, err = d.ReadToken(); errors.Is(err, io.EOF) {
			return batch, nil
		}
		err = errNoBatch // there is more behind it
	}
	return events.SQSEvent{}, fmt.Errorf("decode batch: %w", err)
}

// leastMessage is about the length of the shortest message that SQS delivers, in
// bytes. A quarter of it is enough for its id and body.
const leastMessage = 512

var errNoBatch = errors.New("the event is no batch of messages")

// decoder reads a JSON text token by token. Null is an empty value of any kind.
type decoder struct {
	*jsontext.Decoder
	texts strings.Builder // what text has read, in one piece of memory
	last  []byte
}

// finds reports whether a value of that kind is next; null it takes.
func (d *decoder) finds(kind jsontext.Kind) (bool, error) {
	switch d.PeekKind() {
	case kind:
		return true, nil
	case 'n':
		return false, d.skip()
	}
	return false, errNoBatch
}

// skip reads past the value that comes next, at once: SkipValue would go token by
// token.
func (d *decoder) skip() error {
	_, err := d.ReadValue()
	return err
}

// object reads an object. It calls member with each name, quoted as it stands
// there and good until the next token, to read the value.
func (d *decoder) object(member func(name []byte) error) error {
	if found, err := d.finds('{'); !found {
		return err
	}
	_, err := d.ReadToken()
	for err == nil && d.PeekKind() == '"' {
		var name []byte
		if name, err = d.ReadValue(); err == nil {
			err = member(name)
		}
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	return err
}

// records reads an array of about so many messages.
func (d *decoder) records(about int) ([]events.SQSMessage, error) {
	if found, err := d.finds('['); !found {
		return nil, err
	}
	_, err := d.ReadToken()
	all := make([]events.SQSMessage, 0, about)
	for err == nil && d.PeekKind() != ']' {
		all = append(all, events.SQSMessage{})
		m := &all[len(all)-1]
		err = d.object(func(name []byte) (err error) {
			switch string(name) {
			case `"messageId"`:
				m.MessageId, err = d.text()
			case `"body"`:
				m.Body, err = d.text()
			default:
				err = d.skip()
			}
			return err
		})
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	return all, err
}

// text reads a string. What is not Unicode in it is replaced: that makes one
// message poison, and must not cost the others (P10).
func (d *decoder) text() (string, error) {
	if found, err := d.finds('"'); !found {
		return "", err
	}
	quoted, err := d.ReadValue()
	if err != nil {
		return "", err
	}
	d.last, _ = jsontext.AppendUnquote(d.last[:0], quoted)
	start := d.texts.Len()
	d.texts.Write(d.last)
	return d.texts.String()[start:], nil
}
