package ledger

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"flashsale/shared/invocation"
	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

const (
	// maxGathered bounds the due claims that a pass holds in memory, about 100 bytes each. It
	// is enough for full transactions in a sale of 1,000 shards.
	maxGathered = 200_000
	// maxPaid is how many paid claims a pass gathers, with a page more, before it records their refunds.
	maxPaid = 2_000
)

// ReleaseResult is what one call of ReleaseDue did.
type ReleaseResult struct {
	// Released and PutBack count the claims released and the units put back by this call.
	// Those of a try whose answer was lost may be missing.
	Released int
	PutBack  int64
	// Refunded counts the payments of a recalled sale that this call has found to go back.
	Refunded int
	// OldestDueSeconds is how long the claim that was due first had been due when the pass
	// read it.
	OldestDueSeconds int64
	// Complete: the pass has seen every claim, and a recall's has finished each. If it has not,
	// it was cut off, the sale is paused or was just edited, or a recall needs another pass, and the next call continues.
	Complete bool
	// NextRelease is when the next claim is to be released at the earliest, if Complete.
	NextRelease time.Time
	ReadUnits   float64
}

// releasing is one call's share of a pass, which releases the claims of a sale that are due.
type releasing struct {
	*Ledger
	sale sale.Sale
	by   sale.ReleasedBy
	pass ReleasePass
	done *ReleaseResult
	// gather takes up a claim, with what the pass must do about it; finish ends a pass that has seen every claim.
	gather func(c sale.Claim, next *ReleasePass)
	finish func(context.Context) error
	due    [][]unpaid // per shard, and not yet released
	count  int        // of due
	paid   []paid     // without a refund, of a recalled sale
}

// add takes up a claim that is to be released and has been due since then.
func (p *releasing) add(c sale.Claim, due time.Time) {
	p.due[c.Shard] = append(p.due[c.Shard], unpaid{c.User, c.OrderID})
	p.count++
	p.age(due)
}

// age notes since when something is due.
func (p *releasing) age(due time.Time) {
	p.done.OldestDueSeconds = max(p.done.OldestDueSeconds, int64(p.now().Sub(due)/time.Second))
}

func (p *releasing) run(ctx context.Context) error {
	for p.pass.Bucket < p.sale.Buckets {
		if err := p.part(ctx); err != nil || p.pass.Bucket < p.sale.Buckets && !invocation.Outlasts(ctx, minPart) {
			if errors.Is(err, errReleaseEdited) {
				err = nil // the next pass reads the sale again
			}
			return errors.Join(err, p.save(ctx))
		}
	}
	if p.done.Released > 0 || p.pass.isRecall() {
		units, _, err := p.putBack(ctx, p.sale)
		if p.done.PutBack += units; err != nil {
			return errors.Join(err, p.save(ctx))
		}
	}
	return p.finish(ctx)
}

// minPart is the time that a part of a pass needs at least.
const minPart = 2 * time.Second

// part gathers due claims, with half of the time that is left, and releases them. Meanwhile it
// records the refunds of a recalled sale, because its paid claims would take the most memory. Only
// then has the pass come further: if it is cut off here, the next call reads the same
// claims again and finds fewer that are due.
func (p *releasing) part(ctx context.Context) error {
	p.due, p.count, p.paid = make([][]unpaid, p.sale.Shards), 0, nil
	next := p.pass
	reading, cancel := invocation.Share(ctx, 2)
	defer cancel()
	var refunds invocation.Group
	defer refunds.Wait()
	var notRefunded error // keeps nothing from being released
	refund := func() {
		refunds.Wait()
		held := p.paid
		if p.paid = nil; notRefunded == nil {
			refunds.Go(func() {
				var n int
				n, notRefunded = p.refundAllRecalled(ctx, p.sale, held)
				p.done.Refunded += n
			})
		}
	}
	for pages := 0; next.Bucket < p.sale.Buckets && p.count < maxGathered; pages++ {
		err := p.readPage(reading, &next)
		if pages > 0 && sale.CodeOf(err) == sale.Busy && ctx.Err() == nil {
			break // half of the time is up, or the table is busy: release what is due so far
		}
		if err != nil {
			return err
		}
		if len(p.paid) >= maxPaid {
			refund()
		}
	}
	refunds.Wait()
	released, errs := make([]int, p.sale.Shards), make([]error, p.sale.Shards)
	table.Each(p.sale.Shards, func(k int) { released[k], errs[k] = p.releaseShard(ctx, k) })
	left := p.count
	for k, n := range released {
		p.done.Released += n
		left -= n
		if errors.Is(errs[k], errReleaseEdited) {
			return errReleaseEdited
		}
	}
	if err := table.Worst("shard", errs); err != nil {
		return sale.AsInternal(err)
	}
	next.Again = next.Again || next.isRecall() && left > 0
	p.due = nil
	refund()
	if refunds.Wait(); notRefunded == nil {
		p.pass = next
	}
	return notRefunded
}

// releaseShard releases the gathered claims of one shard, one transaction after the
// other: each writes the shard, so concurrent ones would only conflict.
func (p *releasing) releaseShard(ctx context.Context, k int) (released int, err error) {
	for claims := range slices.Chunk(p.due[k], maxReleases) {
		n, err := p.release(ctx, p.sale, k, claims, p.by)
		if err != nil {
			return released, err
		}
		released += n
	}
	return released, nil
}

// readPage gathers the claims of the page after next, and moves next behind it.
func (p *releasing) readPage(ctx context.Context, next *ReleasePass) error {
	out, err := p.table.ClaimPage(ctx, p.sale.ID, next.Bucket, next.After, 0)
	if err != nil {
		return err
	}
	if out.ConsumedCapacity != nil {
		p.done.ReadUnits += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	}
	for _, it := range out.Items {
		c, err := table.ReadClaim(p.sale.ID, p.sale.Buckets, it)
		if err != nil || c.Shard < 0 || c.Shard >= p.sale.Shards {
			continue // the audit reports what cannot be read
		}
		p.gather(c, next)
	}
	next.Bucket, next.After, err = table.PageEnd(out, next.Bucket)
	return err
}

// save stores how far the pass came, also when the time is up.
func (p *releasing) save(ctx context.Context) error {
	ctx, cancel := invocation.Beyond(ctx, invocation.Margin/2)
	defer cancel()
	return p.saveCursors(ctx, p.sale.ID, map[string]any{"releasing": p.pass})
}
