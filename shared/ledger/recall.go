package ledger

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/invocation"
	"flashsale/shared/ledger/table"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// Recall recalls a sale permanently: the sale item and its listing first, in one transaction,
// then every shard is paused. It returns after the last shard, so no unit leaves any more
// (P14). The release function then finishes the orders, see ReleaseDue (P35). The same again
// pauses the shards again and changes nothing else. r must have passed Check.
//
// It fails with sale.Conflicting if the ChangeID is another change's, with sale.SaleNotFound
// (for a draft, too), sale.Busy or sale.Internal.
func (l *Ledger) Recall(ctx context.Context, r sale.Recall) (Edited, error) {
	done, err := l.recallSale(ctx, r)
	if err == nil {
		err = l.EditShards(ctx, done.Sale, nil)
	}
	if err != nil {
		return Edited{}, err
	}
	return done, l.notePaused(ctx, done.Sale)
}

// notePaused notes in the listing by when every shard of a recalled sale was paused, unless a pass of
// the recall has begun. A pass that finds no note may complete nothing, so a note that the busy table
// does not take costs another pass and nothing else.
func (l *Ledger) notePaused(ctx context.Context, s sale.Sale) error {
	pass, _ := json.Marshal(ReleasePass{RecalledAt: s.RecalledAt, PausedAt: l.now()}) // which never fails
	return unlessBusy(l.table.Update(ctx, table.Update{
		Key: table.ListingKey(s.ID), Expr: "SET #releasing = :pass",
		If:     "attribute_exists(#recalling) AND attribute_not_exists(#releasing)",
		Values: table.Item{":pass": table.S(string(pass))},
	}))
}

// recallSale writes the recall, unless the sale is recalled. It returns the sale that the
// shards must follow. A recall is an edit like others: an older one that is under way does not
// resume a shard. The listing begins a pass of its own kind, also if the sale was drained.
func (l *Ledger) recallSale(ctx context.Context, r sale.Recall) (Edited, error) {
	return l.edit(ctx, edit{
		saleID: r.SaleID, asks: r.Change(), set: setRecall, refused: refusedBySeal,
		next: func(s sale.Sale) (sale.Sale, error) {
			if s.IsRecalled() {
				return s, nil
			}
			at := time.UnixMilli(max(l.now().UnixMilli(), s.ChangedAt.UnixMilli()+1)).UTC()
			s.Paused, s.ChangedAt, s.RecalledAt, s.RecallNote = true, at, at, r.Note
			return s, nil
		},
		others: func(after sale.Sale) []types.TransactWriteItem {
			return []types.TransactWriteItem{l.table.Action(table.Update{
				Key: table.ListingKey(after.ID), Expr: "SET #recalling = :at REMOVE #drained, #releasing", If: ifNotSealed,
				ReturnOld: true, Values: table.Item{":at": table.Millis(after.RecalledAt)},
			})}
		},
	})
}

func setRecall(after sale.Sale) (string, table.Item) {
	update := "SET #paused = :yes, #changedAt = :at, #recalledAt = :at, #minReader = :reader"
	values := table.Item{
		":yes": table.Yes, ":at": table.Millis(after.RecalledAt),
		":reader": table.N(int64(max(after.MinReader, sale.ReadsRecalls))),
	}
	if after.RecallNote != "" {
		update += ", #recallNote = :note"
		values[":note"] = table.S(after.RecallNote)
	}
	return update, values
}

// releaseRecalled makes a pass over a recalled sale, whether or not it asks for payment: it
// releases each confirmed claim that is not paid, and records a refund for each payment of
// one that is (P35). A pass that has seen a claim without an order id or one that was just
// released and that the shards may not count yet, or has lost one to a payment, is followed by another;
// the one that has not completes the recall.
//
// Every pass pauses the shards first: the caller of Recall may have died before. So after
// that no claim is made. But plain reads may see the unit of a purchase gone and not yet its
// claim, so only a pass that begins longer than PauseSettles after that, by whichever clocks,
// is sure to read all that there will ever be, and may complete the recall.
func (l *Ledger) releaseRecalled(ctx context.Context, listing Listing) (done ReleaseResult, err error) {
	s, err := l.table.OpenSale(ctx, listing.SaleID)
	if err != nil || !s.IsRecalled() { // plain reads see a transaction item by item
		return done, err
	}
	shards, err := l.table.Shards(ctx, s)
	if err != nil {
		return done, err
	}
	isLate := func(one table.Shard) bool { return one.ChangedAt.Before(s.ChangedAt) }
	if err := l.EditShards(ctx, s, func(k int) bool { return isLate(shards[k]) }); err != nil {
		return done, err
	}
	now := l.now()
	p := &releasing{Ledger: l, sale: s, by: sale.ByOperator, done: &done, pass: ReleasePass{RecalledAt: s.RecalledAt}}
	p.gather, p.finish = p.gatherRecalled, p.completeRecall
	if at := listing.Releasing; at != nil && at.RecalledAt.Equal(s.RecalledAt) {
		p.pass, p.ended.isPart = *at, at.isPart()
	}
	if p.pass.Began.IsZero() {
		p.pass.Began = now
	}
	if p.pass.PausedAt.IsZero() || p.pass.PausedAt.After(now) || slices.ContainsFunc(shards, isLate) {
		p.pass.PausedAt = now
	}
	err = p.run(ctx)
	return done, err
}

// PauseSettles is how long after the last shard was paused a claim that was made before may still
// be hidden, and after a release its shard, as far as clocks agree.
const PauseSettles = ClockSkew + SettleTime

// gatherRecalled gathers what the pass must do about a claim of a recalled sale.
func (p *releasing) gatherRecalled(c sale.Claim, next *ReleasePass) {
	due := orderid.Time(c.OrderID)
	if due.Before(next.RecalledAt) {
		due = next.RecalledAt
	}
	if c.Ended() && c.Unit != sale.UnitKept {
		p.ended.seen += c.UnitCount()
	}
	switch {
	case c.State() == sale.Pending:
		next.Again = true
	case c.State() == sale.Confirmed:
		p.add(c, due)
	case c.State() == sale.Paid && !slices.Contains(c.Refunds, c.Payment):
		p.paid = append(p.paid, paidOf(c))
		p.count++
		p.age(due)
	case c.Released() && p.now().Sub(c.ReleasedAt).Abs() < PauseSettles:
		p.ended.isFresh = true
	}
}

// endedClaims are the claims whose units come back, as far as a recall's pass has seen or released them.
type endedClaims struct {
	seen    int64 // their units
	isFresh bool  // one was released just before: whoever did that may have died, and its shard may not show the unit yet
	isPart  bool  // another call has seen some
}

// mayHide reports whether the shards, as they were read after the claims, may not show all of their units.
func (e endedClaims) mayHide(shards []table.Shard) bool {
	var counted int64
	for _, one := range shards {
		counted += one.Released
	}
	return e.isFresh && (e.isPart || counted != e.seen)
}

// completeRecall ends the pass: the recall is complete, or another pass begins, at once if that may be the last.
func (p *releasing) completeRecall(ctx context.Context, shards []table.Shard) error {
	now, again := p.now(), p.pass.Again || p.ended.mayHide(shards)
	if !again && p.pass.Began.Sub(p.pass.PausedAt) >= PauseSettles {
		err := p.setListing(ctx, p.sale.ID, "REMOVE #recalling, #releasing", nil)
		p.done.Complete = err == nil
		return err
	}
	p.pass, p.ended = ReleasePass{RecalledAt: p.pass.RecalledAt, PausedAt: p.pass.PausedAt}, endedClaims{}
	if again || now.Sub(p.pass.PausedAt) < PauseSettles || !invocation.Outlasts(ctx, minPart) {
		return p.save(ctx)
	}
	p.pass.Began = now
	return p.run(ctx)
}
