package ledger

import (
	"context"
	"time"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

const (
	// DefaultGrace is how long after its payBy a claim is released: clocks differ, and a
	// payment may be on its way.
	DefaultGrace = 2 * time.Minute
	// MaxGrace is the longest grace, which the caller of ReleaseDue checks.
	MaxGrace = 24 * time.Hour
)

// ReleaseDue releases the claims of a sale that are due, and puts their units and those
// of cancelled claims back into stock. A claim is due from payBy + grace, by this
// ledger's clock (P21), and in a sale with a LateFor not while units for any order are left (P39), of which the
// shards tell at the beginning of this call. It does as much as ctx allows, stores how far it came, and may
// be called again at any time, by several callers at once: conditions decide each claim
// and each shard's units. While no claim is due by the listing's NextPayBy, it reads only
// the shards, because a buyer may have cancelled.
//
// In a paused sale no claim expires; units that were released before are put back. Of a
// sale whose listing says that it is recalled, see releaseRecalled.
//
// It fails with sale.SaleNotFound (with a *DraftError for a draft), sale.Busy or
// sale.Internal; what it did until then is done.
func (l *Ledger) ReleaseDue(ctx context.Context, listing Listing, grace time.Duration) (done ReleaseResult, err error) {
	if listing.Recalling {
		return l.releaseRecalled(ctx, listing)
	}
	if listing.PayWithin == 0 {
		done.Complete = true
		return done, nil
	}
	now := l.now()
	// The clock of the pass before was ahead: what was ordered since is due earlier.
	isAhead := listing.NextPayBy.After(now.Add(listing.PayWithin))
	mayBeDue := isAhead || !listing.NextPayBy.Add(grace).After(now)
	var s sale.Sale
	if mayBeDue {
		s, err = l.table.OpenSale(ctx, listing.SaleID)
	} else {
		s, err = l.existing(ctx, table.PatientTries, listing.SaleID)
	}
	if err != nil {
		return done, err
	}
	// First what an earlier pass was cut off from, and cancelled claims.
	var shards []table.Shard
	if done.PutBack, shards, err = l.putBack(ctx, s); err != nil {
		return done, err
	}
	var left int64
	for _, one := range shards {
		left += one.Stock + one.Released - one.PutBack
	}
	late := s.Late(left, now)
	if next := listing.NextPayBy.Add(grace + late); !mayBeDue || !isAhead && next.After(now) {
		done.Complete, done.NextRelease = true, next
		return done, nil
	}
	if s.Paused {
		if isAhead {
			return done, l.noteNextPayBy(ctx, s.ID, now) // after the pause nothing may show it any more
		}
		return done, nil
	}
	p := &expiring{
		releasing: releasing{Ledger: l, sale: s, by: sale.ByExpiry, done: &done, pass: ReleasePass{Began: now}},
		grace:     grace, late: late, read: now,
	}
	p.gather, p.finish = p.gatherDue, p.complete
	if listing.Releasing != nil {
		p.pass = *listing.Releasing
	}
	err = p.run(ctx)
	return done, err
}

// expiring is a pass over the claims that are not paid in time.
type expiring struct {
	releasing
	grace time.Duration
	late  time.Duration // see sale.Sale.Late
	read  time.Time     // before the sale was: who sees a change of it has no order that becomes due after that
}

// gatherDue gathers a claim if it is due, and else notes by when it is to be paid.
func (p *expiring) gatherDue(c sale.Claim, next *ReleasePass) {
	if c.State() != sale.Confirmed {
		return
	}
	by := p.sale.PayBy(c.OrderID)
	due := by.Add(p.grace + p.late)
	if due.After(p.read) {
		if next.NextPayBy.IsZero() || by.Before(next.NextPayBy) {
			next.NextPayBy = by
		}
		return
	}
	if p.sale.LateFor > p.late && due.Before(next.Began) {
		due = next.Began // it became due when too few units were left, a short while before the pass
	}
	p.add(c, due)
}

// complete ends a pass that has seen every claim.
func (p *expiring) complete(ctx context.Context, _ []table.Shard) error {
	next := p.pass.Began.Add(p.sale.PayWithin)
	if !p.pass.NextPayBy.IsZero() && p.pass.NextPayBy.Before(next) {
		next = p.pass.NextPayBy
	}
	if err := p.noteNextPayBy(ctx, p.sale.ID, next); err != nil {
		return err
	}
	p.done.Complete, p.done.NextRelease = true, next.Add(p.grace+p.late)
	return nil
}

// noteNextPayBy stores by when the next claim is to be paid at the earliest: without the grace,
// which an operator may change before. That is right also if another pass overlaps: a claim
// whose order id was reserved after this one began is to be paid at least payWithin later,
// as far as the clocks agree. A claim whose id was reserved before that and written after its
// page was read is released late, by no more than finalize took from the reservation to the
// write, and up to a second because an order id counts in seconds.
func (l *Ledger) noteNextPayBy(ctx context.Context, saleID string, next time.Time) error {
	return l.setListing(ctx, saleID, "SET #nextDue = :next REMOVE #releasing", table.Item{":next": table.Millis(next)})
}
