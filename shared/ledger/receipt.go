package ledger

import "time"

// Receipt is the books of one sale at one instant. Balanced means that P1, P2, P3 and
// P7 hold in the table.
type Receipt struct {
	SaleID             string
	AsOf               time.Time
	Seeded, Stock      int64
	Claims             int64
	Pending, Confirmed int64
	// Paid and Released count claims among the confirmed; Released is what the shards
	// say at the end of the pass.
	Paid, Released int64
	// Unpaid counts those that are neither; 0 in a sale that asks for no payment.
	Unpaid int64
	// RefundsDue counts the payments that must go back to a buyer of this sale.
	RefundsDue int64
	// OldestPendingSeconds is the age of the oldest order that is pending or whose
	// order item is missing.
	OldestPendingSeconds int64
	Balanced             bool
	Findings             []string
	// Missing is the number of missing order items; ReadUnits is the cost of the pass.
	Missing int64
	// Available is the stock that can be bought now: 0 if the sale is paused, closed or
	// not open yet.
	Available int64
	ReadUnits float64
	// Finished: nothing is left to do for the sale, see Drain. ClosesAt and Version are
	// the sale's as read by the pass.
	Finished bool
	ClosesAt time.Time
	Version  int64
}
