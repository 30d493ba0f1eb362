package eventbus

import (
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// Source is the source of every event.
const Source = "flashsale"

// schemaVersion rises when a reader of the former version would misunderstand an event.
// New members do not raise it: readers ignore what they do not know. An order of several units is of severalUnits: who
// does not know units must not take it for an order of one.
const (
	schemaVersion = 1
	severalUnits  = 2
)

// detail is an event as JSON. What an event is not about is missing.
type detail struct {
	SchemaVersion  int               `json:"schemaVersion"`
	ID             string            `json:"id"`
	OccurredAt     string            `json:"occurredAt"`
	SaleID         string            `json:"saleId,omitzero"`
	OrderID        string            `json:"orderId,omitzero"` // 63 bits do not fit a JavaScript number
	ClaimID        string            `json:"claimId,omitzero"`
	User           string            `json:"user,omitzero"`
	State          sale.ClaimState   `json:"state,omitzero"`
	AsksForPayment *bool             `json:"asksForPayment,omitzero"` // of OrderConfirmed
	PayBy          string            `json:"payBy,omitzero"`
	Payment        string            `json:"payment,omitzero"`
	RefundID       string            `json:"refundId,omitzero"`
	DisputeID      string            `json:"disputeId,omitzero"`
	Dispute        sale.DisputeState `json:"dispute,omitzero"`
	ReleasedBy     sale.ReleasedBy   `json:"releasedBy,omitzero"`
	Unit           sale.Unit         `json:"unit,omitzero"`
	Reason         sale.RefundReason `json:"reason,omitzero"`
	Amount         *int64            `json:"amount,omitzero"` // with a currency
	Currency       string            `json:"currency,omitzero"`

	ChangeID string      `json:"changeId,omitzero"`
	Action   sale.Action `json:"action,omitzero"`
	Actor    string      `json:"actor,omitzero"`
	Verified *bool       `json:"verified,omitzero"` // of a change
	Note     string      `json:"note,omitzero"`
	Units    int64       `json:"units,omitzero"` // of a change, or of an order of several
	PayUntil string      `json:"payUntil,omitzero"`
	OpensAt  string      `json:"opensAt,omitzero"`
	ClosesAt string      `json:"closesAt,omitzero"`

	Entrants *int64 `json:"entrants,omitzero"` // of a roll
	Roll     string `json:"roll,omitzero"`
	Round    int64  `json:"round,omitzero"`

	Labels []string `json:"labels,omitempty"` // an array, so that a rule's pattern matches one label
}

// Detail returns an event as JSON, which is its detail on the bus. The shard that a unit
// came from is nobody's concern and not in it.
func Detail(e sale.Event) []byte {
	d := detail{
		SchemaVersion: schemaVersion, ID: e.ID, OccurredAt: instant(e.OccurredAt), SaleID: e.SaleID, ClaimID: e.ClaimID,
		User: e.User, State: e.State, Units: e.Units, AsksForPayment: e.AsksForPayment,
		Payment: e.Payment, RefundID: e.RefundID, DisputeID: e.DisputeID, Dispute: e.Dispute,
		ReleasedBy: e.ReleasedBy, Unit: e.Unit, Reason: e.Reason, Currency: e.Currency, Labels: e.Labels.List(),
	}
	if e.Units > 1 {
		d.SchemaVersion = severalUnits
	}
	if e.OrderID != 0 {
		d.OrderID = orderid.String(e.OrderID)
	}
	if !e.PayBy.IsZero() {
		d.PayBy = instant(e.PayBy)
	}
	if e.Currency != "" {
		d.Amount = &e.Amount
	}
	if c := e.Change; c.Action != "" {
		d.ChangeID, d.Action, d.Actor, d.Verified, d.Note, d.Units = c.ID, c.Action, c.Actor, &c.Verified, c.Note, c.Units
		if !c.PayUntil.IsZero() {
			d.PayUntil = instant(c.PayUntil)
		}
		if c.Action == sale.ActionReschedule || c.Action == sale.ActionCall {
			opensAt, closesAt := c.Window()
			d.OpensAt, d.ClosesAt = instant(opensAt), instant(closesAt)
		}
	}
	if r := e.Roll; r.Digest != "" {
		d.Entrants, d.Roll, d.Round = &r.Entrants, r.Digest, r.Round
	}
	text, _ := jsonv2.Marshal(d, jsontext.AllowInvalidUTF8(true)) // which always encodes
	return text
}

// instant is RFC 3339 in UTC with milliseconds.
func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
