package ledger

import "time"

// Receipt is the books of one sale at one instant. Balanced is P1, P2, P3 and
// P7 as the table itself shows them.
type Receipt struct {
	SaleID             string
	AsOf               time.Time
	Seeded, Stock      int64
	Claims             int64
	Pending, Confirmed int64
	// OldestPendingSeconds is the age of the oldest order that is pending or whose
	// order item is missing.
	OldestPendingSeconds int64
	Balanced             bool
	Findings             []string
	// Missing is the number of order items that are not there; ReadUnits what the
	// pass has cost.
	Missing int64
	// Available is the stock that buyers can have now: none of a sale that is
	// paused, closed or not open yet.
	Available int64
	ReadUnits float64
	// Finished tells that nothing is left to do for the sale, see Drain. ClosesAt
	// and Version are the sale's, as the pass knows them.
	Finished bool
	ClosesAt time.Time
	Version  int64
}
