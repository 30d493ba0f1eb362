package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// Recall recalls a sale, for ever: the sale item and its listing first, in one transaction,
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
// one that is (P35). A pass that has seen a claim without an order id or one that another has just
// released, or has lost one to a payment, is followed by another; the one that has not completes
// the recall.
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
	p := &releasing{Ledger: l, sale: s, done: &done, pass: ReleasePass{RecalledAt: s.RecalledAt}}
	if at := listing.Releasing; at != nil && at.RecalledAt.Equal(s.RecalledAt) {
		p.pass = *at
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

// paid is what the refund of a payment that has paid its order needs to know of the claim.
type paid struct {
	user    string
	orderID uint64
	payment string
	// What the claim says was paid; "" if it does not.
	amount   int64
	currency string
	isBack   bool // its provider has paid it back
}

func paidOf(c sale.Claim) paid {
	return paid{c.User, c.OrderID, c.Payment, c.Amount, c.Currency, !c.RefundedAt.IsZero()}
}

// gatherRecalled gathers what the pass must do about a claim of a recalled sale.
func (p *releasing) gatherRecalled(c sale.Claim, next *ReleasePass) {
	switch {
	case c.State() == sale.Pending:
		next.Again = true
		return
	case c.State() == sale.Confirmed:
		p.due[c.Shard].add(unpaid{c.User, c.OrderID})
		p.count++
	case c.State() == sale.Paid && !slices.Contains(c.Refunds, c.Payment):
		p.paid = append(p.paid, paidOf(c))
	case c.Released() && p.now().Sub(c.ReleasedAt).Abs() < PauseSettles:
		next.Again = true // whoever released it may have died, and its shard may not show the unit yet
		return
	default:
		return
	}
	due := orderid.Time(c.OrderID)
	if due.Before(next.RecalledAt) {
		due = next.RecalledAt
	}
	p.done.OldestDueSeconds = max(p.done.OldestDueSeconds, int64(p.now().Sub(due)/time.Second))
}

// refundPaid records the refunds of paid claims: the first one alone, because it
// notes in the listing that there are refunds, for which others would conflict, and then
// several batches at once.
func (p *releasing) refundPaid(ctx context.Context, claims []paid) error {
	if len(claims) == 0 {
		return nil
	}
	batches := append([][]paid{claims[:1]}, slices.Collect(slices.Chunk(claims[1:], maxReleases))...)
	refunded, errs := make([]int, len(batches)), make([]error, len(batches))
	for _, at := range []int{0, 1} {
		upTo := max(1, at*len(batches))
		table.Each(upTo-at, func(i int) { refunded[at+i], errs[at+i] = p.refundRecalled(ctx, batches[at+i]) })
	}
	for _, n := range refunded {
		p.done.Refunded += n
	}
	return sale.AsInternal(table.Worst("batch of refunds", errs))
}

// refundRecalled records that the payments of claims of a recalled sale go back, up to
// maxReleases of them in one transaction, and reports how many it recorded. The guard of each
// stays: it says that the payment has paid its order. A refund that is there is done.
func (p *releasing) refundRecalled(ctx context.Context, claims []paid) (int, error) {
	keys := make([]table.Item, len(claims))
	for i, c := range claims {
		keys[i] = table.PaymentKey(c.payment)
	}
	guards, err := p.table.GetAll(ctx, keys)
	if err != nil {
		return 0, err
	}
	now := p.now()
	_, isNoted := p.noted.Get(p.sale.ID, now)
	for len(claims) > 0 {
		var actions []types.TransactWriteItem
		for _, c := range claims {
			refund, err := refundOf(p.sale, c, guards[table.IdentityOf(table.PaymentKey(c.payment))], sale.RefundRecalled, now)
			if err != nil {
				return 0, sale.AsInternal(err)
			}
			actions = append(actions, p.table.Put(table.RefundItem(refund)), p.notePaid(c))
		}
		if !isNoted {
			actions = append(actions, p.setRefundAt(sale.Refund{SaleID: p.sale.ID, At: now}))
		}
		reasons, err := p.table.RetryTransaction(ctx, actions...)
		if reasons == nil {
			if err == nil && !isNoted {
				p.noted.Put(p.sale.ID, struct{}{}, now, now.Add(noteAge))
			}
			return len(claims), sale.AsInternal(err)
		}
		left := claims[:0:0]
		for i, c := range claims {
			if claim := reasons[2*i+1]; table.Failed(claim) {
				if c.isBack || !table.Has(claim.Item, "refundedAt") {
					return 0, sale.AsInternal(errors.New("a paid claim of a recalled sale has changed"))
				}
				c.isBack = true
			}
			if !table.Failed(reasons[2*i]) {
				left = append(left, c)
			}
		}
		claims = left
		if last := reasons[len(reasons)-1]; table.Failed(last) {
			p.keepNote(p.sale.ID, last.Item, now)
			isNoted = true
		}
	}
	return 0, nil
}

// noCurrency is ISO 4217's code for no currency.
const noCurrency = "XXX"

// refundOf returns the refund of a payment that has paid its order, of the amount that its guard says. A release that
// put no guards checked the price, if the sale has one; or else the amount is not known here.
func refundOf(s sale.Sale, c paid, guard table.Item, reason sale.RefundReason, at time.Time) (sale.Refund, error) {
	refund := sale.Refund{
		SaleID: s.ID, Payment: c.payment, OrderID: c.orderID, User: c.user, Reason: reason, Labels: s.Labels,
		Amount: s.Price, Currency: cmp.Or(s.Currency, noCurrency), At: at,
	}
	if c.isBack {
		refund.RefundedAt = at
	}
	if guard == nil {
		// The claim of a payment may be seen before its guard.
		if c.currency != "" {
			refund.Amount, refund.Currency = c.amount, c.currency
		}
		return refund, nil
	}
	r := table.Read(guard)
	refund.Amount, refund.Currency = r.Number("amount"), r.Text("currency")
	return refund, r.Err
}

// notePaid notes on a claim that the payment that has paid it goes back, also if it notes as
// many others as it may.
func (p *releasing) notePaid(c paid) types.TransactWriteItem {
	u := table.Update{
		Key:  table.ClaimKey(p.sale.ID, sale.BucketOf(c.user, p.sale.Buckets), c.user),
		Expr: "ADD #refunds :refund", If: "#payment = :payment", ReturnOld: true,
		Values: table.Item{":refund": table.SS(c.payment), ":payment": table.S(c.payment)},
	}
	if !c.isBack {
		u.If += " AND attribute_not_exists(#refundedAt)" // or else the refund would be due
	}
	return p.table.Action(u)
}

// completeRecall ends the pass: the recall is complete, or another pass begins.
func (p *releasing) completeRecall(ctx context.Context) error {
	if p.pass.Again || p.pass.Began.Sub(p.pass.PausedAt) < PauseSettles {
		p.pass = ReleasePass{RecalledAt: p.pass.RecalledAt, PausedAt: p.pass.PausedAt}
		return p.save(ctx)
	}
	err := p.setListing(ctx, p.sale.ID, "REMOVE #recalling, #releasing", nil)
	p.done.Complete = err == nil
	return err
}
