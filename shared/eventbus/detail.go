package eventbus

import (
	"flashsale/shared/jsonwrite"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// Source is the source of every event.
const Source = "flashsale"

// schemaVersion rises when a reader of the former version would misunderstand an event.
// New members do not raise it: readers ignore what they do not know.
const schemaVersion = 1

// timeLayout is RFC 3339 in UTC with milliseconds.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// Detail returns an event as JSON, which is its detail on the bus. The shard that a unit
// came from is nobody's concern and not in it.
func Detail(e sale.Event) []byte {
	var o jsonwrite.Object
	o.Int("schemaVersion", schemaVersion)
	o.Text("id", e.ID)
	o.Text("occurredAt", e.OccurredAt.UTC().Format(timeLayout))
	o.TextIf("saleId", e.SaleID)
	if e.OrderID != 0 {
		o.Text("orderId", orderid.String(e.OrderID)) // 63 bits do not fit a JavaScript number
	}
	o.TextIf("claimId", e.ClaimID)
	o.TextIf("user", e.User)
	o.TextIf("state", string(e.State))
	o.TextIf("payment", e.Payment)
	o.TextIf("releasedBy", string(e.ReleasedBy))
	o.TextIf("unit", string(e.Unit))
	o.TextIf("reason", string(e.Reason))
	if e.Currency != "" {
		o.Int("amount", e.Amount)
		o.Text("currency", e.Currency)
	}
	if c := e.Change; c.Action != "" {
		o.Text("changeId", c.ID)
		o.Text("action", string(c.Action))
		o.TextIf("actor", c.Actor)
		o.Bool("verified", c.Verified)
		o.TextIf("note", c.Note)
		if c.Units != 0 {
			o.Int("units", c.Units)
		}
		if !c.PayUntil.IsZero() {
			o.Text("payUntil", c.PayUntil.UTC().Format(timeLayout))
		}
		if c.Action == sale.ActionReschedule || c.Action == sale.ActionCall {
			opensAt, closesAt := c.Window()
			o.Text("opensAt", opensAt.UTC().Format(timeLayout))
			o.Text("closesAt", closesAt.UTC().Format(timeLayout))
		}
	}
	if r := e.Roll; r.Digest != "" {
		o.Int("entrants", r.Entrants)
		o.Text("roll", r.Digest)
		o.Int("round", r.Round)
	}
	if e.Labels != "" {
		o.Texts("labels", e.Labels.List()) // an array, so that a rule's pattern matches one label
	}
	return o.Close()
}
