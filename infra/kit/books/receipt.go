// Package books recounts a sale from its table, as ITEMS.md describes the items, and
// reports what does not add up.
//
// It shares no code with the writers of the items: neither the ledger's, nor the code
// for hashing, order ids or spreading units. So a fault there cannot also be here. It
// only reads, and every read is consistent.
//
// A sale may be recounted while it sells. If something does not add up, it is counted
// again after SettleTime, with pauses between the reads, and is a finding only if it
// still does not add up. So these are not findings:
//
//   - a transaction of which one item is visible before the other, for less than
//     readPause;
//   - purchases, additions and edits that commit between two reads: what changes
//     is read before and after the claims, and the claims may lie in between;
//   - an edit that has not reached every shard, a claim without an order id and an
//     order id without its order item, until they are older than
//     Options.Overdue;
//   - a sale or an addition whose making was cut off: its repeat goes on with it.
//
// The receipt lists the last two as unfinished.
//
// CheckEvents compares published events with the items in the same way, as
// infra/docs/EVENTS.md describes the events.
package books

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrNoSale: the table has no item of the sale.
var ErrNoSale = errors.New("no such sale")

var errNoID = fmt.Errorf("%w: a sale's id is 1 to 64 characters of A-Z, a-z, 0-9, _ and -", ErrNoSale)

// Finding is one error in the books, and the promise that it breaks.
type Finding struct{ Promise, Text string }

func (f Finding) String() string { return f.Text + " (" + f.Promise + ")" }

// MarshalText writes a finding as one line.
func (f Finding) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// Receipt is the result of recounting a sale. Fields shared with reconcile's receipt
// have the same names in JSON.
type Receipt struct {
	SaleID    string `json:"saleId"`
	AsOf      string `json:"asOf"`
	Seeded    int64  `json:"seeded"` // by the CREATE item and the receipts of additions and withdrawals
	Stock     int64  `json:"stock"`
	Claims    int64  `json:"claims"`
	Units     int64  `json:"units,omitempty"` // of the claims, in a sale whose orders may have several
	Pending   int64  `json:"pending"`
	Confirmed int64  `json:"confirmed"`
	// Paid and Unpaid are confirmed claims of a sale that asks for payment, Released the units of the others, and
	// RefundsDue its payments that must go back to a buyer. ReleasedClaims have the released units, if a claim may have several.
	Paid       int64 `json:"paid,omitempty"`
	Unpaid     int64 `json:"unpaid,omitempty"`
	Released   int64 `json:"released,omitempty"`
	RefundsDue int64 `json:"refundsDue,omitempty"`

	ReleasedClaims int64 `json:"releasedClaims,omitempty"`
	// Archive is the digest of the archive that has the claims and orders of an archived sale, and
	// ArchivedClaims how many. ArchivedAt is "" while some may be left.
	Archive        string `json:"archive,omitempty"`
	ArchivedClaims int64  `json:"archivedClaims,omitempty"`
	ArchivedAt     string `json:"archivedAt,omitempty"`
	// OldestPendingSeconds is the age of the oldest pending claim, 0 if there is none.
	OldestPendingSeconds int64 `json:"oldestPendingSeconds"`
	// Balanced: there is no finding.
	Balanced bool      `json:"balanced"`
	Findings []Finding `json:"findings"`
	// Unfinished lists what is in progress or was interrupted, which is not a finding.
	Unfinished []string `json:"unfinished"`
	// NotLookedFor lists the checks that this recount did not make.
	NotLookedFor []string `json:"notLookedFor"`
	// ReadUnits is the cost of the recount in DynamoDB read request units.
	ReadUnits float64 `json:"readUnits"`
}

const (
	// SettleTime is how long a mismatch must last to count.
	SettleTime = 5 * time.Second
	// readPause separates the reads of the second count. It is longer than the items of
	// a transaction may become visible apart.
	readPause = time.Second
	// skew is how much two clocks may differ.
	skew = time.Minute
	// drainAfter is how long a sale must have been closed before it is drained.
	drainAfter = 15 * time.Minute
	// resendGrace is how long a claim must be pending before its message is resent.
	resendGrace = 30 * time.Second
	// maxFindings bounds the findings of a receipt.
	maxFindings = 50
)

// Options say how to recount. The zero value recounts a table on AWS.
type Options struct {
	// Full scans the table regardless of its size.
	Full bool
	// Overdue is how long a claim may be pending, a confirmed claim may lack its order
	// and an edit may take to reach all shards; 0 is 5 minutes.
	Overdue time.Duration
	// Progress, if not nil, is called with the claims read so far and about how many
	// there are.
	Progress func(claims, about int64)
	// Now and Sleep are the clock, for tests; nil is the machine's.
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error
}

func (o *Options) setDefaults() {
	o.Overdue = cmp.Or(o.Overdue, 5*time.Minute)
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Recount counts the items of a sale. It fails with ErrNoSale, with ErrNewerVersion, or
// if it cannot read the table; errors in the items are in the receipt.
//
// Its memory does not grow with the sale, except for 24 bytes per claim, 16 if the sale
// asks for no payment, for the first 4,194,304 claims.
func Recount(ctx context.Context, db DynamoDB, name, saleID string, o Options) (*Receipt, error) {
	o.setDefaults()
	return recount(ctx, &table{db: db, name: name, full: o.Full, sleep: o.Sleep}, saleID, o)
}

// AtOnce is the Overdue for a sale that must be quiet: every claim confirmed, every
// order in place, every edit on every shard.
const AtOnce = time.Nanosecond

// Recount counts a sale in these books, which were all read at one time. It fails with
// ErrNoSale.
func (b *Books) Recount(ctx context.Context, saleID string, o Options) (*Receipt, error) {
	o.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() } // the books do not change
	o.setDefaults()
	return recount(ctx, b, saleID, o)
}

// recount counts once, and if anything does not add up, once more with pauses: only
// problems found again count.
func recount(ctx context.Context, src source, saleID string, o Options) (*Receipt, error) {
	if !isID(saleID) {
		return nil, errNoID
	}
	first := &pass{source: src, saleID: saleID, Options: o}
	if err := first.run(ctx); err != nil {
		return nil, err
	}
	if len(first.found) == 0 && first.still() {
		return first.receipt(), nil
	}
	if err := o.Sleep(ctx, SettleTime); err != nil {
		return nil, err
	}
	second := &pass{source: src, saleID: saleID, Options: o, first: first}
	if err := second.run(ctx); err != nil {
		return nil, err
	}
	return second.receipt(), nil
}
