package ledger

import (
	"context"
	"time"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// Request asks for units of a sale for one user. SaleID, User and, if not
// empty, Key must have passed sale.ValidID and sale.ValidUser.
type Request struct {
	SaleID string
	User   string
	Key    string // the Idempotency-Key, or ""
	// Units is how many, 1 to the sale's MaxPerOrder; 0 means one.
	Units int64
	// CheckUser, if not nil, is called before a unit is taken, but only if the sale would
	// sell one now and no claim of the user is known. It may be slow, so nothing is held
	// while it runs. Its error, with a code of package sale, ends the purchase.
	CheckUser func(ctx context.Context, closesAt time.Time) error
	// CallGap is the time between two calls of a draw, for saying when the next one may be.
	CallGap time.Duration
}

// PurchaseResult is the result of a request; one that failed may have a claim and tries, too.
type PurchaseResult struct {
	// Claim is the user's claim; zero if the request found none.
	Claim sale.Claim
	// New: this call took the unit, so its order message has not been sent yet.
	New bool
	// Tries counts the transactions that were tried.
	Tries int
}

// purchasing is the state of one call of Purchase.
type purchasing struct {
	ledger  *Ledger
	request Request
	view    *view
	claimID string
	// tries counts the transactions. Those without a definite answer use up what is left:
	// a try that found a shard empty, which the table then lists, costs nothing.
	tries int
	left  table.Tries
	// moves counts how often the call left a shard for another, so that it does not come
	// back to the same one.
	moves int
	// opens is when the call of a draw begins in which it is the user's turn.
	opens time.Time
	plan  planning
	// unsure: a try had no answer and may still be applied, so no refusal is certain.
	unsure bool
}

// step is what follows a try.
type step int

const (
	finish      step = iota // the call ends with the try's result and error
	tryAnother              // at once: nobody tries that shard again
	waitAndStay             // the next try may be on the same shard
	waitAndMove             // the next try is on another shard
	planNext                // the next try is on shards that are read first, at once
)

// units is how many the request asks for, at least 1.
func (r *Request) units() int64 { return max(1, r.Units) }

func finishWith(result PurchaseResult, err error) (step, PurchaseResult, error) {
	return finish, result, err
}

// fail ends a call without a definite answer. After a try with an unknown outcome even
// an unexpected failure is "busy": the unit may be the user's.
func (p *purchasing) fail(code sale.Code, err error) (PurchaseResult, error) {
	if p.unsure {
		code = sale.Busy
	}
	return PurchaseResult{Tries: p.tries}, sale.Fail(code, err)
}
