package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"flashsale/shared/invocation"
	"flashsale/shared/sale"
)

const (
	// DefaultGrace is how long after its payBy a claim is released: clocks differ, and a
	// payment may be on its way.
	DefaultGrace = 2 * time.Minute
	// MaxGrace is the longest grace.
	MaxGrace = 24 * time.Hour
	// maxGathered bounds the claims that a pass holds in memory, about 100 bytes each. It
	// is enough for full transactions in a sale of 1,000 shards.
	maxGathered = 200_000
)

// ReleasePass is one pass over a sale's claims that releases those that are due. It may
// be cut off and continue in another process; passes may overlap. The listing stores it.
type ReleasePass struct {
	Began time.Time `json:"began"`
	// Bucket and After say where to continue: after that user of that bucket.
	Bucket int    `json:"bucket"`
	After  string `json:"after,omitempty"`
	// NextPayBy is the earliest payBy of the claims that the pass has left unpaid; zero if
	// there is none. See Listing.NextPayBy for its name in the table.
	NextPayBy time.Time `json:"nextDue"`
}

// ReleaseResult is what one call of ReleaseDue did.
type ReleaseResult struct {
	// Released and PutBack count the claims released and the units put back by this call.
	// Those of a try whose answer was lost may be missing.
	Released int
	PutBack  int64
	// OldestDueSeconds is how long the claim that was due first had been due when the pass
	// read it.
	OldestDueSeconds int64
	// Complete: the pass has seen every claim. If it has not, it was cut off or the sale is
	// paused, and the next call continues.
	Complete bool
	// NextRelease is when the next claim is to be released at the earliest, if Complete.
	NextRelease time.Time
	ReadUnits   float64
}

// ReleaseDue releases the claims of a sale that are due, and puts their units and those
// of cancelled claims back into stock. A claim is due from payBy + grace, by this
// ledger's clock (P21). It does as much as ctx allows, stores how far it came, and may
// be called again at any time, by several callers at once: conditions decide each claim
// and each shard's units. While no claim is due by the listing's NextPayBy, it reads only
// the shards, because a buyer may have cancelled.
//
// In a paused sale no claim expires; units that were released before are put back.
//
// It fails with sale.SaleNotFound (with a *DraftError for a draft), sale.Busy or
// sale.Internal; what it did until then is done.
func (l *Ledger) ReleaseDue(ctx context.Context, listing Listing, grace time.Duration) (done ReleaseResult, err error) {
	if grace < 0 || grace > MaxGrace {
		return done, asInternal(fmt.Errorf("grace is %v, want 0 to %v", grace, MaxGrace))
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
		s, err = l.readOpenSale(ctx, listing.SaleID)
	} else {
		s, err = l.existing(ctx, patientTries, listing.SaleID)
	}
	if err != nil {
		return done, err
	}
	// First what an earlier pass was cut off from, and cancelled claims.
	if done.PutBack, err = l.putBack(ctx, s); err != nil {
		return done, err
	}
	if !mayBeDue {
		done.Complete, done.NextRelease = true, listing.NextPayBy.Add(grace)
		return done, nil
	}
	p := &releasing{Ledger: l, sale: s, grace: grace, done: &done, pass: ReleasePass{Began: now}}
	if s.Paused {
		if isAhead {
			return done, p.complete(ctx, now) // after the pause nothing may show it any more
		}
		return done, nil
	}
	if listing.Releasing != nil {
		p.pass = *listing.Releasing
	}
	err = p.run(ctx)
	return done, err
}

// releasing is the state of one call of ReleaseDue.
type releasing struct {
	*Ledger
	sale  sale.Sale
	grace time.Duration
	pass  ReleasePass
	done  *ReleaseResult
	due   [][]unpaid // per shard, gathered and not yet released
	count int        // of due
}

func (p *releasing) run(ctx context.Context) error {
	for p.pass.Bucket < p.sale.Buckets {
		if err := p.part(ctx); err != nil || p.pass.Bucket < p.sale.Buckets && !invocation.Outlasts(ctx, minPart) {
			if errors.Is(err, errReleasePaused) {
				return nil
			}
			return errors.Join(err, p.save(ctx))
		}
	}
	if p.done.Released > 0 {
		units, err := p.putBack(ctx, p.sale)
		if p.done.PutBack += units; err != nil {
			return errors.Join(err, p.save(ctx))
		}
	}
	next := p.pass.Began.Add(p.sale.PayWithin)
	if !p.pass.NextPayBy.IsZero() && p.pass.NextPayBy.Before(next) {
		next = p.pass.NextPayBy
	}
	if err := p.complete(ctx, next); err != nil {
		return err
	}
	p.done.Complete, p.done.NextRelease = true, next.Add(p.grace)
	return nil
}

// minPart is the time that a part of a pass needs at least.
const minPart = 2 * time.Second

// part gathers due claims, with half of the time that is left, and releases them. Only
// then has the pass come further: if it is cut off here, the next call reads the same
// claims again and finds fewer that are due.
func (p *releasing) part(ctx context.Context) error {
	p.due, p.count = make([][]unpaid, p.sale.Shards), 0
	next := p.pass
	reading, cancel := invocation.Share(ctx, 2)
	defer cancel()
	for pages := 0; next.Bucket < p.sale.Buckets && p.count < maxGathered; pages++ {
		err := p.gatherDue(reading, &next)
		if pages > 0 && sale.CodeOf(err) == sale.Busy && ctx.Err() == nil {
			break // half of the time is up, or the table is busy: release what is due so far
		}
		if err != nil {
			return err
		}
	}
	released, errs := make([]int, p.sale.Shards), make([]error, p.sale.Shards)
	each(p.sale.Shards, func(k int) { released[k], errs[k] = p.releaseShard(ctx, k) })
	for k, n := range released {
		p.done.Released += n
		if errors.Is(errs[k], errReleasePaused) {
			return errReleasePaused
		}
	}
	if err := worst("shard", errs); err != nil {
		return asInternal(err)
	}
	p.pass = next
	return nil
}

// releaseShard releases the gathered claims of one shard, one transaction after the
// other: each writes the shard, so concurrent ones would only conflict.
func (p *releasing) releaseShard(ctx context.Context, k int) (released int, err error) {
	for due := p.due[k]; len(due) > 0; due = due[min(maxReleases, len(due)):] {
		n, err := p.release(ctx, p.sale, k, due[:min(maxReleases, len(due))], sale.ByExpiry)
		if err != nil {
			return released, err
		}
		released += n
	}
	return released, nil
}

// gatherDue gathers the due claims of the page after next, and moves next behind it.
func (p *releasing) gatherDue(ctx context.Context, next *ReleasePass) error {
	out, err := p.claimPage(ctx, p.sale.ID, next.Bucket, next.After, 0)
	if err != nil {
		return err
	}
	if out.ConsumedCapacity != nil {
		p.done.ReadUnits += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	}
	now := p.now()
	for _, it := range out.Items {
		c, err := readClaim(p.sale.ID, p.sale.Buckets, it)
		if err != nil || c.State() != sale.Confirmed || c.Shard < 0 || c.Shard >= p.sale.Shards {
			continue // the audit reports what cannot be read
		}
		by := payBy(p.sale, c.OrderID)
		due := by.Add(p.grace)
		if due.After(now) {
			if next.NextPayBy.IsZero() || by.Before(next.NextPayBy) {
				next.NextPayBy = by
			}
			continue
		}
		p.done.OldestDueSeconds = max(p.done.OldestDueSeconds, int64(now.Sub(due)/time.Second))
		p.due[c.Shard] = append(p.due[c.Shard], unpaid{c.User, c.OrderID})
		p.count++
	}
	next.Bucket, next.After, err = pageEnd(out, next.Bucket)
	return err
}

// save stores how far the pass came, also when the time is up.
func (p *releasing) save(ctx context.Context) error {
	ctx, cancel := invocation.AtLeast(ctx, invocation.Margin/2)
	defer cancel()
	return p.saveCursor(ctx, p.sale.ID, "releasing", p.pass)
}

// complete stores by when the next claim is to be paid at the earliest: without the grace,
// which an operator may change before. That is right also if another pass overlaps: a claim
// whose order id was reserved after this one began is to be paid at least payWithin later,
// as far as the clocks agree. A claim whose id was reserved before that and written after its
// page was read is released late, by no more than finalize took from the reservation to the
// write, and up to a second because an order id counts in seconds.
func (p *releasing) complete(ctx context.Context, next time.Time) error {
	update := "SET #nextDue = :next REMOVE #releasing"
	return p.setListing(ctx, p.sale.ID, update, map[string]string{"#nextDue": "nextDue", "#releasing": "releasing"}, item{":next": millis(next)})
}
