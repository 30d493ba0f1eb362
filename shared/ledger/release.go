package ledger

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/invocation"
	"flashsale/shared/ledger/table"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// maxReleases is how many claims one transaction releases.
const maxReleases = 25

// unpaid is what releasing needs to know of a claim.
type unpaid struct {
	user    string
	orderID uint64
}

// gathered are the unpaid claims that a pass holds of a shard, written one after the other, because as
// strings they would take twice the memory.
type gathered []byte

func (g *gathered) add(c unpaid) {
	*g = append(binary.AppendUvarint(binary.BigEndian.AppendUint64(*g, c.orderID), uint64(len(c.user))), c.user...)
}

// take returns the first claims, up to maxReleases of them, and the others.
func (g gathered) take() (first []unpaid, others gathered) {
	for len(g) > 0 && len(first) < maxReleases {
		id := binary.BigEndian.Uint64(g)
		length, n := binary.Uvarint(g[8:])
		from := 8 + n
		to := from + int(length)
		first, g = append(first, unpaid{string(g[from:to]), id}), g[to:]
	}
	return first, g
}

// Cancel releases the user's own claim. The same again gets the same answer. The unit
// goes back on sale with the next pass of ReleaseDue.
//
// It fails with sale.OrderNotFound; with sale.NotCancellable if the sale asks for no
// payment; with sale.OrderPending, sale.OrderPaid or sale.OrderExpired, each with the
// claim; with sale.SaleNotFound, sale.Busy or sale.Internal.
func (l *Ledger) Cancel(ctx context.Context, saleID, user string) (sale.Claim, error) {
	s, err := l.existing(ctx, table.MaxTries, saleID)
	if err != nil {
		return sale.Claim{}, err
	}
	if s.PayWithin == 0 {
		return sale.Claim{}, sale.Refuse(sale.NotCancellable, "orders of this sale are final")
	}
	held, err := l.claim(ctx, s, user)
	if err != nil {
		return sale.Claim{}, err
	}
	if held.State() != sale.Confirmed {
		return answerCancel(held)
	}
	if _, err := l.release(ctx, s, held.Shard, []unpaid{{user, held.OrderID}}, sale.ByBuyer); err != nil {
		return sale.Claim{}, err
	}
	// Whoever decided, its write is in the table now.
	if held, err = l.claim(ctx, s, user); err != nil {
		return sale.Claim{}, err
	}
	return answerCancel(held)
}

// answerCancel answers a cancellation from the state of the claim.
func answerCancel(held sale.Claim) (sale.Claim, error) {
	refuse := func(code sale.Code, detail string) (sale.Claim, error) {
		return sale.Claim{}, &sale.Error{Code: code, Detail: detail, Claim: &held}
	}
	switch held.State() {
	case sale.Cancelled:
		return held, nil
	case sale.Pending:
		return refuse(sale.OrderPending, "the order has no number yet; try again in a few seconds")
	case sale.Paid:
		return refuse(sale.OrderPaid, "the order is paid")
	case sale.Expired:
		return refuse(sale.OrderExpired, "the order was not paid in time")
	}
	return sale.Claim{}, sale.AsInternal(errors.New("a released claim is in no final state"))
}

// release releases claims of one shard: up to maxReleases of them and the shard's count
// in one transaction. A claim that was paid or released meanwhile is left out, and the
// others are tried again. It does not write the sale item, so it does not conflict with the
// closing of a shard. It reports how many it released; a claim whose try had no answer may
// be missing in that.
//
// No claim of a shard expires that has a later edit than s: a pause, so that an operator can pause a sale while
// payments cannot be reported, or more time. So once either is answered, no claim expires against it, whatever a pass
// had read before. A shard with an earlier edit is as good: one that was cut off has reached the sale, which counts.
func (l *Ledger) release(ctx context.Context, s sale.Sale, k int, claims []unpaid, by sale.ReleasedBy) (int, error) {
	for len(claims) > 0 {
		reasons, err := l.table.RetryTransaction(ctx, l.releaseClaims(s, k, claims, by)...)
		if reasons == nil {
			if err != nil {
				return 0, sale.AsInternal(err)
			}
			return len(claims), nil
		}
		ofShard, ofClaims := reasons[0], reasons[1:]
		var left []unpaid
		for i, c := range claims {
			if !table.Failed(ofClaims[i]) {
				left = append(left, c)
				continue
			}
			held, err := table.ReadClaim(s.ID, s.Buckets, ofClaims[i].Item)
			switch {
			case err != nil:
				return 0, sale.AsInternal(err)
			case held.PaidAt.IsZero() && !held.Released():
				return 0, sale.AsInternal(fmt.Errorf("order %s is not the claim's", orderid.String(c.orderID)))
			}
		}
		if table.Failed(ofShard) {
			return 0, errReleaseEdited
		}
		claims = left
	}
	return 0, nil
}

// errReleaseEdited: the sale is paused, or was edited after the pass had read it.
var errReleaseEdited = sale.Refuse(sale.Paused, "the sale is paused, or was edited meanwhile")

func (l *Ledger) releaseClaims(s sale.Sale, k int, claims []unpaid, by sale.ReleasedBy) []types.TransactWriteItem {
	now := table.Millis(l.now())
	// A shard without the count has nothing to add to, which is an error.
	count := table.Update{
		Key: table.StockKey(s.ID, k), Expr: "SET #released = #released + :n",
		Values: table.Item{":n": table.N(int64(len(claims)))},
	}
	switch by {
	case sale.ByOperator: // the shards of a sale that asks for no payment have no counts yet
		count.Expr, count.Values[":zero"] = "ADD #released :n, #putBack :zero", table.Zero
	case sale.ByExpiry:
		count.If, count.Values[":read"] = "#changedAt <= :read", table.Millis(s.ChangedAt)
	}
	actions := append(make([]types.TransactWriteItem, 0, 1+len(claims)), l.table.Action(count))
	for _, c := range claims {
		actions = append(actions, l.table.Action(table.Update{
			Key:  table.ClaimKey(s.ID, sale.BucketOf(c.user, s.Buckets), c.user),
			Expr: "SET #releasedAt = :now, #releasedBy = :by", If: "#orderId = :orderId AND " + table.IfNotFinal,
			ReturnOld: true, Values: table.Item{":now": now, ":by": table.S(string(by)), ":orderId": table.N(int64(c.orderID))},
		}))
	}
	return actions
}

const (
	// DefaultGrace is how long after its payBy a claim is released: clocks differ, and a
	// payment may be on its way.
	DefaultGrace = 2 * time.Minute
	// MaxGrace is the longest grace, which the caller of ReleaseDue checks.
	MaxGrace = 24 * time.Hour
	// maxGathered bounds the due claims that a pass holds in memory, about 60 bytes each. It
	// is enough for full transactions in a sale of 1,000 shards.
	maxGathered = 200_000
	// maxPaid is how many paid claims a pass gathers, with a page more, before it records their refunds.
	maxPaid = 2_000
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
	// RecalledAt is its sale's, if the pass is a recall's. A recall does not continue another
	// pass, which has left out what was not due.
	RecalledAt time.Time `json:"recalledAt,omitzero"`
	// PausedAt is by when every shard of a recalled sale was paused.
	PausedAt time.Time `json:"pausedAt,omitzero"`
	// Again: a recall's pass has seen a claim that is not finished, so another pass follows.
	Again bool `json:"again,omitempty"`
}

func (p *ReleasePass) isRecall() bool { return !p.RecalledAt.IsZero() }

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

// ReleaseDue releases the claims of a sale that are due, and puts their units and those
// of cancelled claims back into stock. A claim is due from payBy + grace, by this
// ledger's clock (P21), and in a sale with a LateFor not while units are left (P39), of which the shards tell at
// the beginning of this call. It does as much as ctx allows, stores how far it came, and may
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
	var left int64
	if done.PutBack, left, err = l.putBack(ctx, s); err != nil {
		return done, err
	}
	late := s.Late(left, now)
	if next := listing.NextPayBy.Add(grace + late); !mayBeDue || !isAhead && next.After(now) {
		done.Complete, done.NextRelease = true, next
		return done, nil
	}
	p := &releasing{Ledger: l, sale: s, grace: grace, read: now, late: late, done: &done, pass: ReleasePass{Began: now}}
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
	read  time.Time     // before the sale was: who sees a change of it has no order that becomes due after that
	late  time.Duration // see sale.Sale.Late
	pass  ReleasePass
	done  *ReleaseResult
	due   []gathered // per shard, gathered and not yet released
	count int        // of due
	paid  []paid     // of a recalled sale, gathered and without a refund
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
	if p.pass.isRecall() {
		return p.completeRecall(ctx)
	}
	next := p.pass.Began.Add(p.sale.PayWithin)
	if !p.pass.NextPayBy.IsZero() && p.pass.NextPayBy.Before(next) {
		next = p.pass.NextPayBy
	}
	if err := p.complete(ctx, next); err != nil {
		return err
	}
	p.done.Complete, p.done.NextRelease = true, next.Add(p.grace+p.late)
	return nil
}

// minPart is the time that a part of a pass needs at least.
const minPart = 2 * time.Second

// part gathers due claims, with half of the time that is left, and releases them. Meanwhile it
// records the refunds of a recalled sale, because its paid claims would take the most memory. Only
// then has the pass come further: if it is cut off here, the next call reads the same
// claims again and finds fewer that are due.
func (p *releasing) part(ctx context.Context) error {
	p.due, p.count, p.paid = make([]gathered, p.sale.Shards), 0, nil
	next := p.pass
	reading, cancel := invocation.Share(ctx, 2)
	defer cancel()
	var refunds sync.WaitGroup
	defer refunds.Wait()
	var notRefunded error // keeps nothing from being released
	refund := func() {
		refunds.Wait()
		held := p.paid
		if p.paid = nil; notRefunded == nil {
			refunds.Go(func() { notRefunded = p.refundPaid(ctx, held) })
		}
	}
	for pages := 0; next.Bucket < p.sale.Buckets && p.count < maxGathered; pages++ {
		err := p.gatherDue(reading, &next)
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
	by := sale.ByExpiry
	if p.pass.isRecall() {
		by = sale.ByOperator
	}
	for claims, others := p.due[k].take(); len(claims) > 0; claims, others = others.take() {
		n, err := p.release(ctx, p.sale, k, claims, by)
		if err != nil {
			return released, err
		}
		released += n
	}
	return released, nil
}

// gatherDue gathers the due claims of the page after next, and moves next behind it.
func (p *releasing) gatherDue(ctx context.Context, next *ReleasePass) error {
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
		if next.isRecall() {
			p.gatherRecalled(c, next)
			continue
		}
		if c.State() != sale.Confirmed {
			continue
		}
		by := p.sale.PayBy(c.OrderID)
		due := by.Add(p.grace + p.late)
		if due.After(p.read) {
			if next.NextPayBy.IsZero() || by.Before(next.NextPayBy) {
				next.NextPayBy = by
			}
			continue
		}
		if p.sale.LateFor > p.late && due.Before(next.Began) {
			due = next.Began // it became due when the last unit was sold, a short while before the pass
		}
		p.done.OldestDueSeconds = max(p.done.OldestDueSeconds, int64(p.now().Sub(due)/time.Second))
		p.due[c.Shard].add(unpaid{c.User, c.OrderID})
		p.count++
	}
	next.Bucket, next.After, err = table.PageEnd(out, next.Bucket)
	return err
}

// save stores how far the pass came, also when the time is up.
func (p *releasing) save(ctx context.Context) error {
	ctx, cancel := invocation.AtLeast(ctx, invocation.Margin/2)
	defer cancel()
	return p.saveCursors(ctx, p.sale.ID, map[string]any{"releasing": p.pass})
}

// complete stores by when the next claim is to be paid at the earliest: without the grace,
// which an operator may change before. That is right also if another pass overlaps: a claim
// whose order id was reserved after this one began is to be paid at least payWithin later,
// as far as the clocks agree. A claim whose id was reserved before that and written after its
// page was read is released late, by no more than finalize took from the reservation to the
// write, and up to a second because an order id counts in seconds.
func (p *releasing) complete(ctx context.Context, next time.Time) error {
	return p.setListing(ctx, p.sale.ID, "SET #nextDue = :next REMOVE #releasing", table.Item{":next": table.Millis(next)})
}

// putBack puts the released units of a sale back into stock, shard by shard: each
// transaction writes the sale item, so concurrent ones would only conflict. It returns
// how many units it put back; units of a try without an answer may be missing in that. left is what
// the shards then have, as far as they had it when they were read.
func (l *Ledger) putBack(ctx context.Context, s sale.Sale) (units, left int64, err error) {
	shards, err := l.table.Shards(ctx, s)
	if err != nil {
		return 0, 0, err
	}
	for k, one := range shards {
		left += one.Stock + one.Released - one.PutBack
		n, err := l.putBackShard(ctx, s.ID, k, one)
		if err != nil {
			return units, left, err
		}
		units += n
	}
	return units, left, nil
}

// putBackShard puts the released units of one shard back. The transaction requires that the
// shard's putBack is what was read, so a repeat changes nothing. It also raises the sale's
// version and takes the shard out of the empty set, as an addition does (P6).
func (l *Ledger) putBackShard(ctx context.Context, saleID string, k int, one table.Shard) (int64, error) {
	for one.Released > one.PutBack {
		units := one.Released - one.PutBack
		reasons, err := l.table.RetryTransaction(ctx,
			l.table.Action(table.Update{
				Key: table.StockKey(saleID, k), Expr: "SET #stock = #stock + :n, #putBack = :r", If: "#putBack = :p",
				ReturnOld: true, Values: table.Item{":n": table.N(units), ":r": table.N(one.Released), ":p": table.N(one.PutBack)},
			}),
			l.table.Action(table.Update{
				Key: table.SaleKey(saleID), Expr: "SET #version = #version + :one DELETE #empty :k", If: "#state = :open",
				Values: table.Item{":one": table.One, ":k": table.NS(k), ":open": table.S(string(sale.Open))},
			}),
		)
		if reasons == nil {
			return units, sale.AsInternal(err)
		}
		if !table.Failed(reasons[0]) {
			return 0, sale.AsInternal(err)
		}
		// Another call, or a try of this one, has put some back. putBack only grows, so
		// this loop ends.
		before := one.PutBack
		var readErr error
		if one, readErr = table.ReadShard(reasons[0].Item); readErr != nil || one.PutBack <= before {
			return 0, sale.AsInternal(fmt.Errorf("shard %d has %d put back: %w", k, one.PutBack, err))
		}
	}
	return 0, nil
}
