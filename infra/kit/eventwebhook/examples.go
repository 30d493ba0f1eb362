package eventwebhook

import (
	"strings"
	"time"

	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// Examples are an event of each type, of an order that nobody has made: its number is 0, its sale and its buyer are
// called test. The instant is that of all of them, and makes their ids new.
func Examples(at time.Time) []sale.Event {
	first, err := orderid.New(at, 1)
	if err != nil {
		panic(err) // it is not between 2023 and 2091
	}
	order, asks := first-1, true
	id := orderid.String(order)
	all := []sale.Event{
		{Type: sale.EventConfirmed, ID: id, State: sale.Confirmed, AsksForPayment: &asks, PayBy: at.Add(30 * time.Minute), Amount: 149900, Currency: "CNY"},
		{Type: sale.EventPaid, ID: id, State: sale.Paid, Payment: "test#" + id, Amount: 149900, Currency: "CNY"},
		{Type: sale.EventReleased, ID: id, State: sale.Expired, ReleasedBy: sale.ByExpiry},
		{Type: sale.EventCancelled, ID: id, State: sale.Cancelled, Payment: "test#" + id, Amount: 149900, Currency: "CNY", Unit: sale.UnitBack},
		{Type: sale.EventRefundDue, ID: "test:test#" + id, Payment: "test#" + id, Reason: sale.RefundCancelled, Amount: 149900, Currency: "CNY"},
		{Type: sale.EventRefundDone, ID: "test#" + id + ":re_1", Payment: "test#" + id, RefundID: "re_1", Amount: 149900, Currency: "CNY"},
		{Type: sale.EventRefundFailed, ID: "test#" + id + ":re_1", Payment: "test#" + id, RefundID: "re_1", Amount: 149900, Currency: "CNY"},
		{Type: sale.EventDisputed, ID: "test#" + id + ":dp_1:open", Payment: "test#" + id, DisputeID: "dp_1", Dispute: sale.DisputeOpen},
		{Type: sale.EventSoldOut, ID: "test:1"},
		{Type: sale.EventDrained, ID: "test:" + id},
		{Type: sale.EventChanged, ID: "test:1", Change: sale.Change{ID: "test", Action: sale.ActionPause, Author: sale.Author{Actor: "test"}}},
		{Type: sale.EventRollClosed, ID: "test", Roll: sale.Roll{Entrants: 3, Digest: strings.Repeat("0", 64), Round: 1}},
	}
	for i := range all {
		e := &all[i]
		e.ID, e.OccurredAt, e.SaleID = string(e.Type)+":"+e.ID, at, "test"
		if e.State != "" {
			e.ClaimID = "test"
		}
		if e.State != "" || e.Payment != "" {
			e.OrderID = order
		}
		if e.State != "" || e.Type == sale.EventRefundDue {
			e.User = "test"
		}
	}
	return all
}
