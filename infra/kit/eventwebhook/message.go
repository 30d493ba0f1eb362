package eventwebhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Message is an event as it is sent: what the specification of Standard Webhooks recommends as a payload
// (spec/standard-webhooks.md of github.com/standard-webhooks/standard-webhooks, read on 2026-11-29).
type Message struct {
	// ID is the event's, the same with every try and every publication.
	ID        string          `json:"-"`
	Type      string          `json:"type"`      // such as OrderPaid
	Timestamp time.Time       `json:"timestamp"` // when it happened
	Data      json.RawMessage `json:"data"`      // the detail of the event, as it was published
}

var errNoEvent = errors.New("it is no order event: detail-type or detail.id is missing")

// Read reads an event as EventBridge delivers it. It needs no more of it than its type, id and instant, so events of
// later versions are sent, too.
func Read(delivered []byte) (Message, error) {
	var e struct {
		Type   string          `json:"detail-type"`
		Detail json.RawMessage `json:"detail"`
	}
	if err := json.Unmarshal(delivered, &e); err != nil {
		return Message{}, fmt.Errorf("read event: %w", err)
	}
	return New(e.Type, e.Detail)
}

// New returns the message of an event of that type with that detail.
func New(kind string, detail []byte) (Message, error) {
	var d struct {
		ID         string    `json:"id"`
		OccurredAt time.Time `json:"occurredAt"`
	}
	if len(detail) > 0 {
		if err := json.Unmarshal(detail, &d); err != nil {
			return Message{}, fmt.Errorf("read event: %w", err)
		}
	}
	if kind == "" || d.ID == "" {
		return Message{}, errNoEvent
	}
	return Message{ID: d.ID, Type: kind, Timestamp: d.OccurredAt, Data: detail}, nil
}

// headerID is the id as the header webhook-id has it. An event's id may have a payment's reference in it, and with it
// any character; a header has no others than ASCII, and a full stop would make what is signed ambiguous. So every byte
// but letters, digits and these four is written as in a URL, %2E. Ids of orders stay as they are.
func headerID(id string) string {
	var b strings.Builder
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte(":#_-", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
