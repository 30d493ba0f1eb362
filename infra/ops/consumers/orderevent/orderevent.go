// Package orderevent reads the order events that infra/docs/EVENTS.md describes. A consumer
// in Go may start from a copy of it.
package orderevent

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// schemaVersion is the highest that Read understands.
const schemaVersion = 1

// Event is the detail of an event. Which members are set depends on the type.
type Event struct {
	Type          string    `json:"-"`
	SchemaVersion int       `json:"schemaVersion"`
	ID            string    `json:"id"` // the same with every publication
	OccurredAt    time.Time `json:"occurredAt"`
	SaleID        string    `json:"saleId"`
	OrderID       string    `json:"orderId"`
	ClaimID       string    `json:"claimId"`
	User          string    `json:"user"`
	State         string    `json:"state"`
	Payment       string    `json:"payment"`
	ReleasedBy    string    `json:"releasedBy"`
	Reason        string    `json:"reason"`
	Amount        int64     `json:"amount"` // in minor units
	Currency      string    `json:"currency"`
	Labels        []string  `json:"labels"`
}

// Read reads an event. It ignores members that it does not know, and fails for a newer
// schemaVersion: a dead-letter queue then keeps the event for a newer consumer.
func Read(e events.EventBridgeEvent) (Event, error) {
	read := Event{Type: e.DetailType}
	if err := json.Unmarshal(e.Detail, &read); err != nil {
		return read, fmt.Errorf("read event %s: %w", e.ID, err)
	}
	if read.SchemaVersion > schemaVersion || read.ID == "" {
		return read, fmt.Errorf("read event %s: schemaVersion %d with the id %q", e.ID, read.SchemaVersion, read.ID)
	}
	return read, nil
}

// Rank orders the states of an order: an event whose state has no higher rank than the known
// one is late or a repetition. Of the states with the highest rank an order has only one.
func Rank(state string) int {
	switch state {
	case "CONFIRMED":
		return 1
	case "PAID", "EXPIRED", "CANCELLED":
		return 2
	}
	return 0
}
