package handler

import (
	"fmt"
	"time"

	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// Answer has one receipt per sale whose pass was completed.
type Answer struct {
	Receipts []Receipt `json:"receipts"`
	// Resent counts the messages that were resent, also by passes that are not complete.
	Resent int64 `json:"resent"`
}

// Receipt is the books of one sale as operators read them.
type Receipt struct {
	SaleID    string `json:"saleId"`
	AsOf      string `json:"asOf"`
	Seeded    int64  `json:"seeded"`
	Stock     int64  `json:"stock"`
	Claims    int64  `json:"claims"`
	Pending   int64  `json:"pending"`
	Confirmed int64  `json:"confirmed"`
	// Units are those of the claims, UnpaidUnits those of the unpaid, and ReleasedClaims the claims of the released
	// units; absent if each claim has one.
	Units          int64 `json:"units,omitempty"`
	UnpaidUnits    int64 `json:"unpaidUnits,omitempty"`
	ReleasedClaims int64 `json:"releasedClaims,omitempty"`
	// Paid counts claims among the confirmed, and Released the units of others; a sale without payment has
	// neither.
	Paid     int64 `json:"paid,omitempty"`
	Released int64 `json:"released,omitempty"`
	// Unpaid counts those that are neither, in a sale that asks for payment; RefundsDue
	// counts payments that must go back to their buyers.
	Unpaid     int64 `json:"unpaid,omitempty"`
	RefundsDue int64 `json:"refundsDue,omitempty"`
	Resent     int64 `json:"resent"`
	// OldestPendingSeconds is the age of the oldest order that was pending or whose
	// order item was missing when the pass read it.
	OldestPendingSeconds int64    `json:"oldestPendingSeconds"`
	Balanced             bool     `json:"balanced"`
	Findings             []string `json:"findings"`
	// ReadUnits is what the pass cost, in DynamoDB read request units.
	ReadUnits float64 `json:"readUnits"`
	// Available is the stock that can be bought now, and Sent is of refunds; metrics, not part of the books.
	Available int64            `json:"-"`
	Sent      ledger.SentSince `json:"-"`
}

func shown(r ledger.Receipt, resent int64) *Receipt {
	findings := r.Findings
	if findings == nil {
		findings = []string{}
	}
	return &Receipt{
		SaleID: r.SaleID, AsOf: httpapi.Time(r.AsOf), Seeded: r.Seeded, Stock: r.Stock, Claims: r.Claims,
		Pending: r.Pending, Confirmed: r.Confirmed, Paid: r.Paid, Released: r.Released, Unpaid: r.Unpaid,
		RefundsDue: r.RefundsDue, Resent: resent, OldestPendingSeconds: r.OldestPendingSeconds, Balanced: r.Balanced,
		Units: r.Units, UnpaidUnits: r.UnpaidUnits, ReleasedClaims: r.ReleasedClaims,
		Findings: findings, ReadUnits: r.ReadUnits, Available: r.Available, Sent: r.SentSince,
	}
}

// report writes one line per sale, with the figures that alarms watch (P11).
func (h *Handler) report(event *telemetry.Event, r Receipt) {
	event.Text("saleId", r.SaleID)
	event.Metric("oversold", telemetry.Count, int(max(0, -r.Stock, max(r.Claims, r.Units)-r.Released-r.Seeded)))
	event.Metric("unbalanced", telemetry.Count, map[bool]int{false: 1, true: 0}[r.Balanced])
	event.Metric("pending", telemetry.Count, int(r.Pending))
	event.Metric("resent", telemetry.Count, int(r.Resent))
	event.Metric("oldestPendingSeconds", telemetry.Seconds, int(r.OldestPendingSeconds))
	event.Metric("readUnits", telemetry.Count, int(r.ReadUnits))
	event.Metric("available", telemetry.Count, int(r.Available))
	if r.Paid+r.Unpaid+r.Released+r.RefundsDue > 0 { // each metric costs money
		event.Metric("unpaid", telemetry.Count, int(r.Unpaid))
		event.Metric("refundsDue", telemetry.Count, int(r.RefundsDue))
	}
	h.reportSent(event, r.Sent)
	var err error
	code := sale.Code("")
	if !r.Balanced {
		code, err = sale.Internal, fmt.Errorf("the books do not balance: %q", r.Findings)
	}
	event.End("receipt", code, err)
}

// seedingMargin is how long before the opening a sale must be complete. Creating it
// takes seconds; an operator who learns that it was interrupted needs minutes to repeat
// it.
const seedingMargin = 15 * time.Minute

// reportDraft writes a line about a sale that is still being created. From
// seedingMargin before its opening until its end a draft is a warning and counts as
// unseeded: its creation was interrupted, and buyers get "no such sale".
func (h *Handler) reportDraft(event *telemetry.Event, saleID string, draft *sale.DraftError) {
	event.Text("saleId", saleID)
	code, unseeded := sale.SaleNotFound, 0
	if now := h.now(); now.Sub(draft.OpensAt) >= -seedingMargin && now.Before(draft.ClosesAt) {
		code, unseeded = sale.Busy, 1 // a warning in the log
	}
	event.Metric("unseeded", telemetry.Count, unseeded)
	event.End("draft", code, fmt.Errorf("repeat its creation: %w", draft))
}
