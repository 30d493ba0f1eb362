package ledger

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"flashsale/shared/invocation"
	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

const (
	// maxGathered bounds the claims that a pass holds in memory, some 100 bytes each. It
	// is enough for full transactions in a sale of 1,000 shards.
	maxGathered = 200_000
	// maxReleases is how many claims one transaction releases: with the shard that is up to 100 actions.
	maxReleases = 99
	// releasesAtOnce is how many claims the transactions of up to table.AtOnce shards release at a time. With the
	// refunds beside them they write up to 1,600 units.
	releasesAtOnce = 400
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
	// gather takes up a claim, with what the pass must do about it; finish ends a pass that has seen every claim, when
	// the shards were as given.
	gather func(c sale.Claim, next *ReleasePass)
	finish func(ctx context.Context, shards []table.Shard) error
	ahead  []Position // the buckets that are not read to their end

	mu    sync.Mutex // guards done and what follows while several buckets are read
	pages int
	due   [][]unpaid // per shard, and not yet released
	paid  []paid     // without a refund, of a recalled sale
	count int        // of due and paid
	ended endedClaims
}

// add takes up a claim that is to be released and has been due since then.
func (p *releasing) add(c sale.Claim, due time.Time) {
	p.due[c.Shard] = append(p.due[c.Shard], unpaidOf(c))
	p.count++
	p.age(due)
}

// age notes since when something is due.
func (p *releasing) age(due time.Time) {
	p.done.OldestDueSeconds = max(p.done.OldestDueSeconds, int64(p.now().Sub(due)/time.Second))
}

func (p *releasing) run(ctx context.Context) error {
	if p.ahead = slices.Clone(p.pass.Ahead); len(p.ahead) == 0 {
		p.ahead = []Position{{Bucket: p.pass.Bucket, After: p.pass.After}}
		for b := p.pass.Bucket + 1; b < p.sale.Buckets; b++ {
			p.ahead = append(p.ahead, Position{Bucket: b})
		}
	}
	for p.pass.Bucket < p.sale.Buckets {
		if err := p.part(ctx); err != nil || p.pass.Bucket < p.sale.Buckets && !invocation.Outlasts(ctx, minPart) {
			if errors.Is(err, errReleaseEdited) {
				err = nil // the next pass reads the sale again
			}
			return errors.Join(err, p.save(ctx))
		}
	}
	var shards []table.Shard
	if p.done.Released > 0 || p.pass.isRecall() {
		units, read, err := p.putBack(ctx, p.sale)
		if p.done.PutBack += units; err != nil {
			return errors.Join(err, p.save(ctx))
		}
		shards = read
	}
	return p.finish(ctx, shards)
}

// minPart is the time that a part of a pass needs at least.
const minPart = 2 * time.Second

// part gathers claims, with half of the time that is left, and then releases those that are due and records the
// refunds of those that are paid, side by side. Only then has the pass come further: if it is cut off here, the
// next call reads the same claims again and finds fewer that are due.
func (p *releasing) part(ctx context.Context) error {
	p.pages, p.due, p.paid, p.count = 0, make([][]unpaid, p.sale.Shards), nil, 0
	next := p.pass
	if err := p.read(ctx, &next); err != nil {
		return err
	}
	var refunds invocation.Group
	defer refunds.Wait()
	var refunded int
	var notRefunded error // keeps nothing from being released
	refunds.Go(func() { refunded, notRefunded = p.refundAllRecalled(ctx, p.sale, p.paid) })
	left, err := p.releaseAll(ctx)
	refunds.Wait()
	p.done.Refunded += refunded
	if err = cmp.Or(err, notRefunded); err != nil {
		return err
	}
	next.Again = next.Again || next.isRecall() && left > 0
	p.pass = next
	return nil
}

// releaseAll releases the gathered claims, and reports how many of them others have released or paid.
func (p *releasing) releaseAll(ctx context.Context) (left int, err error) {
	shards := 0
	for _, due := range p.due {
		shards += min(len(due), 1)
	}
	most := min(maxReleases, releasesAtOnce/max(1, min(shards, table.AtOnce)))
	released, errs := make([]releaseCount, p.sale.Shards), make([]error, p.sale.Shards)
	table.Each(p.sale.Shards, func(k int) { released[k], errs[k] = p.releaseShard(ctx, k, most) })
	for k, n := range released {
		p.done.Released += n.claims
		p.ended.seen += n.units
		left += len(p.due[k]) - n.claims
		if errors.Is(errs[k], errReleaseEdited) {
			return 0, errReleaseEdited
		}
	}
	return left, sale.AsInternal(table.Worst("shard", errs))
}

// releaseCount counts claims that were released, and their units.
type releaseCount struct {
	claims int
	units  int64
}

// releaseShard releases the gathered claims of one shard, one transaction after the
// other: each writes the shard, so concurrent ones would only conflict.
func (p *releasing) releaseShard(ctx context.Context, k, most int) (released releaseCount, err error) {
	for claims := range slices.Chunk(p.due[k], most) {
		of, err := p.release(ctx, p.sale, k, claims, p.by)
		if err != nil {
			return released, err
		}
		released.claims, released.units = released.claims+len(of), released.units+unitsOf(of)
	}
	return released, nil
}

// read gathers claims of several buckets at once, until enough are gathered, half of the time is up or the table is
// busy. It moves next behind what it has read of each.
func (p *releasing) read(ctx context.Context, next *ReleasePass) error {
	reading, stop := invocation.Share(ctx, 2)
	defer stop()
	most := int32(pageClaims * table.AtOnce / min(table.AtOnce, len(p.ahead)))
	err := table.EachOf("bucket", len(p.ahead), func(i int) error {
		for at := &p.ahead[i]; !at.read && p.hasRoom(); {
			if err := p.readPage(reading, at, most, next); err != nil {
				stop()
				return err
			}
		}
		return nil
	})
	switch {
	case err != nil && (p.pages == 0 || sale.CodeOf(err) != sale.Busy || ctx.Err() != nil):
		return err
	case p.pages == 0:
		return sale.AsInternal(errors.New("no claims could be read, and no reason is known"))
	}
	p.ahead = slices.DeleteFunc(p.ahead, func(at Position) bool { return at.read })
	next.Bucket, next.After, next.Ahead = p.sale.Buckets, "", slices.Clone(p.ahead)
	if len(p.ahead) > 0 {
		next.Bucket, next.After = p.ahead[0].Bucket, p.ahead[0].After
	}
	return nil
}

func (p *releasing) hasRoom() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count < maxGathered
}

// readPage gathers the claims of the page at a position, all or none, and moves the position behind it.
func (p *releasing) readPage(ctx context.Context, at *Position, most int32, next *ReleasePass) error {
	out, err := p.table.ClaimPage(ctx, p.sale.ID, at.Bucket, at.After, most)
	if err != nil {
		return err
	}
	bucket, after, err := table.PageEnd(out, at.Bucket)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pages++
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
	at.After, at.read = after, bucket != at.Bucket
	return nil
}

// save stores how far the pass came, also when the time is up.
func (p *releasing) save(ctx context.Context) error {
	ctx, cancel := invocation.Beyond(ctx, invocation.Margin/2)
	defer cancel()
	if p.pass.isPart() {
		p.pass.Again = p.pass.Again || p.ended.isFresh // the next call sees only the rest
	}
	return p.saveCursors(ctx, p.sale.ID, map[string]any{"releasing": p.pass})
}
