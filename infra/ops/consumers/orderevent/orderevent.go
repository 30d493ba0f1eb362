// Package orderevent reads the order events that infra/docs/EVENTS.md describes. A consumer
// in Go may start from a copy of it.
package orderevent

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// schemaVersion is the highest that Read understands: 2 are events of orders of several units.
const schemaVersion = 2

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
	Units         int64     `json:"units"` // of an order of several; 0 is one
	// AsksForPayment is of OrderConfirmed, until PayBy; nil if nobody knows it of the order.
	AsksForPayment *bool     `json:"asksForPayment"`
	PayBy          time.Time `json:"payBy"`
	Payment        string    `json:"payment"`
	RefundID       string    `json:"refundId"`
	DisputeID      string    `json:"disputeId"`
	Dispute        string    `json:"dispute"`
	ReleasedBy     string    `json:"releasedBy"`
	Reason         string    `json:"reason"`
	Amount         int64     `json:"amount"` // in minor units
	Currency       string    `json:"currency"`
	Labels         []string  `json:"labels"`
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

// Recalled is the state of an order whose payment goes back because its sale was recalled: its goods
// must not be delivered. No event has it as its state; a RefundDue says it.
const Recalled = "RECALLED"

// OrderState returns the state that the event gives its order, and its rank: an event whose state has no
// higher rank than the known one is late or a repetition. An order is never both PAID and EXPIRED; CANCELLED
// is above PAID, because an operator cancels paid orders as well.
// An event that does not change the state of an order has the rank 0.
func (e Event) OrderState() (state string, rank int) {
	switch {
	case e.Type == "RefundDue" && e.Reason == "recalled" && e.OrderID != "":
		return Recalled, 4
	case e.State == "CANCELLED":
		return e.State, 3
	case e.State == "PAID" || e.State == "EXPIRED":
		return e.State, 2
	case e.State == "CONFIRMED":
		return e.State, 1
	}
	return "", 0
}

// IsErased reports whether the event was published again after its user was erased: its user is a
// random id, everything else is as before.
func (e Event) IsErased() bool { return strings.HasPrefix(e.User, "erased-") }
