package ledger

import (
	"cmp"
	"slices"
	"time"

	"flashsale/shared/draw"
	"flashsale/shared/sale"
)

// Money is sums in minor units, by currency.
type Money map[string]Sums

// Sums are of one currency.
type Sums struct {
	// Taken is what the paid orders have paid, those of a recalled sale, too.
	Taken int64 `json:"taken,omitempty"`
	// Due is of the refunds that are due, as far as they are not back; not of what an open dispute holds back. Refunded is
	// all that is back. What paid an order that stands, also of a recalled sale, is Taken, too; the other refunds never
	// paid an order, or only one that was cancelled since.
	Due      int64 `json:"due,omitempty"`
	Refunded int64 `json:"refunded,omitempty"`
	// Standing is the part of Refunded that has no refund: of what paid an order that stands.
	Standing int64 `json:"standing,omitempty"`
}

func (m *Money) add(currency string, change func(*Sums)) {
	if *m == nil {
		*m = Money{}
	}
	one := (*m)[currency]
	change(&one)
	(*m)[currency] = one
}

// take adds the payment of a paid claim, and what is back of it, unless its refund says that. A claim that does not say
// what was paid was paid by the sale's price.
func (m *Money) take(s sale.Sale, c sale.Claim) {
	if c.Currency == "" {
		c.Amount, c.Currency = s.PriceOf(c.UnitCount()), s.Currency
	}
	if c.Currency == "" {
		return
	}
	m.add(c.Currency, func(one *Sums) {
		if one.Taken += c.Amount; !slices.Contains(c.Refunds, c.Payment) {
			back := sale.MoneyOf(c, nil).Refunded()
			one.Refunded, one.Standing = one.Refunded+back, one.Standing+back
		}
	})
}

func (m *Money) refund(r sale.Refund) {
	back := sale.MoneyOf(sale.Claim{}, &r).Refunded()
	m.add(r.Currency, func(one *Sums) {
		if one.Refunded += back; r.IsDue() {
			one.Due += r.Amount - back
		}
	})
}

// Pace counts instants in steps of Every seconds: Counts[i] are those of the step First+i, counted from the epoch.
// Every is the least power of two with which the instants take at most paceSteps steps, whatever their order.
type Pace struct {
	Every  int64   `json:"every"`
	First  int64   `json:"first"`
	Counts []int64 `json:"counts"`
}

// paceSteps are enough for a chart, and few enough for the listing, in which the books of a sale stand.
const paceSteps = 32

func (p *Pace) add(at time.Time) {
	if len(p.Counts) == 0 {
		p.Every, p.First = 1, at.Unix()
	}
	step := at.Unix() / p.Every
	for max(step, p.First+int64(len(p.Counts))-1)-min(step, p.First) >= paceSteps {
		p.double()
		step = at.Unix() / p.Every
	}
	if before := p.First - step; before > 0 {
		p.Counts, p.First = append(make([]int64, before), p.Counts...), step
	}
	for step-p.First >= int64(len(p.Counts)) {
		p.Counts = append(p.Counts, 0)
	}
	p.Counts[step-p.First]++
}

// double makes two steps one.
func (p *Pace) double() {
	first := p.First / 2
	var counts []int64
	for i, n := range p.Counts {
		if at := (p.First+int64(i))/2 - first; at == int64(len(counts)) {
			counts = append(counts, n)
		} else {
			counts[at] += n
		}
	}
	p.Every, p.First, p.Counts = 2*p.Every, first, counts
}

// Audit is one pass over a sale's books: it reads the shards, then every claim, then
// the shards again. It may be interrupted between two pages and continue later in
// another process: all its state is in its fields, which the listing stores.
//
// A pass that does not check all orders reads no claims while nothing is sold.
type Audit struct {
	// Format is set by SaveCursor.
	Format int       `json:"format"`
	SaleID string    `json:"saleId"`
	Began  time.Time `json:"began"`
	// SavedAt is when the listing stored the pass.
	SavedAt time.Time `json:"savedAt"`
	// Version is the sale's version when the pass began; as far as this and earlier
	// passes have seen, it has not changed since Since.
	Version int64     `json:"version"`
	Since   time.Time `json:"since"`
	// Closed: the pass began at least DrainAfter after the end of the sale, according
	// to the sale item and every shard. Only such a pass may drain the sale.
	Closed bool `json:"closed,omitempty"`
	// Sold is the units sold per shard before the claims were read.
	Sold []int64 `json:"sold"`
	// Units sums the units of the claims read so far, per shard.
	Units []int64 `json:"claims"`
	// Positions say where to continue, for each bucket that is not read to its end.
	Positions []Position `json:"places,omitempty"`
	// RefundsAfter is the last refund read so far, and RefundsRead says that there are no
	// more.
	RefundsAfter string `json:"refundsAfter,omitempty"`
	RefundsRead  bool   `json:"refundsRead,omitempty"`
	RefundsDue   int64  `json:"refundsDue,omitempty"`
	SentSince
	// Money and Accepted are the Receipt's, as far as the pass has come.
	Money    Money `json:"money,omitempty"`
	Accepted Pace  `json:"accepted,omitzero"`
	// Recalled: when the pass began, the recall of the sale was complete. RecallRefunds counts
	// the refunds of paid orders of a recalled sale.
	Recalled      bool  `json:"recalled,omitempty"`
	RecallRefunds int64 `json:"recallRefunds,omitempty"`

	// Cancelled counts the claims that an operator cancelled after they were paid, and CancelRefunds their
	// refunds.
	Cancelled     int64 `json:"cancelled,omitempty"`
	CancelRefunds int64 `json:"cancelRefunds,omitempty"`

	// Released sums the units of the claims read so far that are not theirs nor kept, and ReleasedBefore is the
	// shards' count before the claims were read.
	Released       int64 `json:"released,omitempty"`
	ReleasedBefore int64 `json:"releasedBefore,omitempty"`

	Pending int64 `json:"pending"`
	// Confirmed counts the claims with an order id, Unpaid those of them that are
	// neither paid nor released, and Paid those that are paid.
	Confirmed int64 `json:"confirmed"`
	Unpaid    int64 `json:"unpaid"`
	Paid      int64 `json:"paid,omitempty"`
	// UnpaidUnits and ReleasedClaims are the Receipt's, as far as the pass has come.
	UnpaidUnits    int64 `json:"unpaidUnits,omitempty"`
	ReleasedClaims int64 `json:"releasedClaims,omitempty"`
	// OldestSeconds is the age of the oldest unfinished order when it was read.
	OldestSeconds int64 `json:"oldestSeconds"`
	// Missing counts confirmed claims without an order item.
	Missing  int64    `json:"missing"`
	Findings []string `json:"findings,omitempty"`
	// Mismatches look wrong in this pass but may be a race.
	Mismatches []Mismatch `json:"mismatches,omitempty"`
	// Suspects are the keys of the previous pass's mismatches: a mismatch found again
	// is a finding.
	Suspects []string `json:"suspects,omitempty"`
	// OrdersFrom is the instant before which confirmed claims are known to have their
	// order items, except those of Absent; zero checks all.
	OrdersFrom time.Time `json:"ordersFrom"`
	// Absent are the orders that the previous pass found missing, and StillAbsent those
	// that this pass has found missing so far, maxAbsent at most.
	Absent      []uint64 `json:"absent,omitempty"`
	StillAbsent []uint64 `json:"stillAbsent,omitempty"`
	// ReadUnits is what the pass has cost so far, in read request units.
	ReadUnits float64 `json:"readUnits"`

	// Hurry: claims also count as stranded when their message was resent a short while ago.
	Hurry bool `json:"-"`
	// payments are hashes of the payments of the claims and refunds read so far, maxPayments
	// at most. They are not stored: a pass that is continued by another process compares only
	// those that it reads itself.
	payments []uint64
	// calls are those of the sale's draw.
	calls []draw.Call
}

// Position is where to continue in a bucket: after that user, or nowhere if all were read.
type Position struct {
	Bucket int    `json:"bucket"`
	After  string `json:"after,omitempty"`
	read   bool
}

// Mismatch is a finding if two passes in a row produce the same Key.
type Mismatch struct {
	Key  string `json:"key"`
	Text string `json:"text"`
}

// Receipt is the books of one sale at one instant. Balanced means that P1, P2, P3 and
// P7 hold in the table. The sale's listing keeps the last one, but for what only its pass
// needs.
type Receipt struct {
	SaleID    string    `json:"-"`
	AsOf      time.Time `json:"asOf"`
	Seeded    int64     `json:"seeded"`
	Stock     int64     `json:"stock"`
	Claims    int64     `json:"claims"`
	Pending   int64     `json:"pending"`
	Confirmed int64     `json:"confirmed"`
	// Units are those of the Claims and UnpaidUnits those of the Unpaid, and ReleasedClaims are the claims of the
	// Released units, in a sale with a MaxPerOrder; 0 in others, whose claims have one unit each.
	Units          int64 `json:"units,omitempty"`
	UnpaidUnits    int64 `json:"unpaidUnits,omitempty"`
	ReleasedClaims int64 `json:"releasedClaims,omitempty"`
	// Paid counts claims among the confirmed. Released counts units, and is what the shards
	// say at the end of the pass. A cancelled order is not Paid, and its units are Released unless they are kept.
	Paid     int64 `json:"paid,omitempty"`
	Released int64 `json:"released,omitempty"`
	// Unpaid counts those that are neither; 0 in a sale that asks for no payment, unless it
	// was recalled.
	Unpaid int64 `json:"unpaid,omitempty"`
	// RefundsDue counts the payments that must go back to a buyer of this sale.
	RefundsDue int64 `json:"refundsDue,omitempty"`
	// Money sums the payments of the paid orders and the refunds. Accepted counts all claims by when they were accepted.
	Money    Money `json:"money,omitempty"`
	Accepted Pace  `json:"accepted,omitzero"`
	// OldestPendingSeconds is the age of the oldest order that is pending or whose
	// order item is missing.
	OldestPendingSeconds int64    `json:"oldestPendingSeconds,omitempty"`
	Balanced             bool     `json:"balanced"`
	Findings             []string `json:"findings,omitempty"`
	// Missing is the number of missing order items; ReadUnits is the cost of the pass.
	Missing int64 `json:"-"`
	// SentSince is of its refunds.
	SentSince `json:"-"`
	// Available is the stock that anybody can buy now: 0 if the sale is paused, closed or
	// not open yet, and during a call of a draw that is not for anybody.
	Available int64   `json:"-"`
	ReadUnits float64 `json:"-"`
	// Finished: nothing is left to do for the sale, see Drain. ClosesAt and Version are
	// the sale's as read by the pass.
	Finished bool      `json:"-"`
	ClosesAt time.Time `json:"-"`
	Version  int64     `json:"-"`
}

// ReleasedOrders is how many claims the Released units have.
func (r *Receipt) ReleasedOrders() int64 { return cmp.Or(r.ReleasedClaims, r.Released) }

// OutstandingUnits is how many units the orders have that are neither paid nor released.
func (r *Receipt) OutstandingUnits() int64 { return cmp.Or(r.UnpaidUnits, r.Unpaid) }

// cursorFormat changes whenever a pass that another version has begun cannot be
// continued, as when it has not counted something.
const cursorFormat = 3
