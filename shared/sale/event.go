package sale

import "time"

// EventType names a change that the rest of the company is told of.
type EventType string

const (
	// EventConfirmed: a claim has its order id.
	EventConfirmed EventType = "OrderConfirmed"
	// EventPaid: a payment is recorded; the order can be delivered.
	EventPaid EventType = "OrderPaid"
	// EventReleased: the order was not paid in time, or cancelled; its units go back on sale.
	EventReleased EventType = "OrderReleased"
	// EventCancelled: an operator has cancelled an order that was paid; it must not be delivered.
	EventCancelled EventType = "OrderCancelled"
	// EventRefundDue: a payment must go back to the buyer.
	EventRefundDue EventType = "RefundDue"
	// EventRefundDone: a provider says that money of a payment has gone back.
	EventRefundDone EventType = "RefundDone"
	// EventRefundFailed: a refund did not reach its buyer; the shop has the money again.
	EventRefundFailed EventType = "RefundFailed"
	// EventDisputed: a payment is disputed, or its dispute has come to another state.
	EventDisputed EventType = "PaymentDisputed"
	// EventSoldOut: every shard of a sale was empty. Units may come back.
	EventSoldOut EventType = "SaleSoldOut"
	// EventDrained: the sale is over, and each of its orders is finished.
	EventDrained EventType = "SaleDrained"
	// EventChanged: an operator or a schedule changed the sale. It is an entry of its trail.
	EventChanged EventType = "SaleChanged"
	// EventRollClosed: the roll of a draw is stored, and the round that decides is chosen.
	EventRollClosed EventType = "RollClosed"
)

// Event is one change. It is published at least once, always with the same content under
// the same id but for the user once they are erased, and in no order: whoever receives it drops the ids that it knows
// and compares the states of an order by their rank (P26).
type Event struct {
	Type EventType
	// ID is derived from what the event is about, so every publication has the same one.
	ID string
	// OccurredAt is an instant that the changed item stores, so each publication has the same
	// one. For SaleSoldOut, of which the item stores none, it is the instant of the change;
	// for SaleDrained it is when the sale closed.
	OccurredAt time.Time
	SaleID     string // "" in what is about a payment of an unknown order
	// OrderID, ClaimID, User and State are of an order's event. A RefundDue has the order id
	// that the payment named, 0 if none, and the user of that order if its sale is known.
	OrderID uint64
	ClaimID string
	User    string
	State   ClaimState
	// Units is how many the order has, in each event of an order; 0 means one.
	Units int64
	// AsksForPayment is of OrderConfirmed: the order expires unless it is paid by PayBy, or by what a SaleChanged gives
	// since. It is nil if the claim does not say whether it does.
	AsksForPayment *bool
	PayBy          time.Time
	// Payment, provider#reference, is of OrderPaid, OrderCancelled, RefundDue and of what a provider says of its money.
	Payment string
	// RefundID is the provider's, of RefundFailed and RefundDone; "" in a RefundDone whose Amount is all that went back
	// so far.
	RefundID string
	// DisputeID, the provider's, and Dispute are of PaymentDisputed.
	DisputeID string
	Dispute   DisputeState
	// ReleasedBy is of OrderReleased. Unit is of that and of OrderCancelled, if an operator has
	// cancelled the order.
	ReleasedBy ReleasedBy
	Unit       Unit
	// Reason is of RefundDue. Amount, in minor units, and Currency are of RefundDue, OrderPaid, OrderCancelled, RefundDone
	// and RefundFailed, and what is to be paid in OrderConfirmed; "" if the item does not have them, as of a refund of the
	// whole or an order that any payment pays.
	Reason   RefundReason
	Amount   int64
	Currency string
	// Change is of SaleChanged, without what a description gives.
	Change Change
	// Roll is of RollClosed.
	Roll Roll
	// Labels are the sale's, if the item has them.
	Labels Labels
}

// Roll is what is published of a draw's roll: how many are on it, its digest in hexadecimal, and
// the round of the beacon that will decide.
type Roll struct {
	Entrants int64
	Digest   string
	Round    int64
}
