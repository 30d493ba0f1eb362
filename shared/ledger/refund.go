package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// refundPage is one page of a sale's refunds; last is "" if it is the last page.
type refundPage struct {
	refunds    []sale.Refund
	due        int64
	unreadable []error
	last       string
}

// refundPage reads the page of a sale's refunds after that payment, or the first page if
// that is "": at most that many, or as many as DynamoDB returns if most is 0.
func (l *Ledger) refundPage(ctx context.Context, saleID, after string, most int32) (page refundPage, err error) {
	in := table.Partition(table.RefundKey(saleID, "")[table.PK])
	if most > 0 {
		in.Limit = &most
	}
	out, err := l.table.QueryPage(ctx, in, after)
	if err != nil {
		return refundPage{}, err
	}
	for _, it := range out.Items {
		refund, err := table.ReadRefund(it)
		if err != nil {
			page.unreadable = append(page.unreadable, fmt.Errorf("refund %q: %w", table.IdentityOf(it).SK, err))
			continue
		}
		if page.refunds = append(page.refunds, refund); refund.RefundedAt.IsZero() {
			page.due++
		}
	}
	page.last = table.IdentityOf(out.LastEvaluatedKey).SK
	return page, nil
}

// RefundCount counts the refunds of a sale that are due, or those of unknown orders if the
// sale id is "". It may be interrupted between two pages.
type RefundCount struct {
	SaleID string
	// NotedAt is the listing's RefundAt. Books are those of a drained sale, which no pass counts any more; nil for none.
	NotedAt  time.Time
	Books    *Receipt
	Due      int64
	Complete bool

	money      Money
	began      time.Time
	after      string
	unreadable error // the first one's
}

// forgetAfter is how old the refund that a listing notes must be before a count begins that may
// remove the note. Until it is noteAge old by their clocks, environments record refunds
// without noting them. The rest is for clocks that differ, as in DrainAfter, and for a
// transaction that is under way.
const forgetAfter = noteAge + DrainAfter

// CountRefunds continues a count, one page at a time, until it is complete or ctx ends. If
// no refund is due, it removes the note in the sale's listing; a refund that is recorded
// during the count has a newer note, which stays. It fails with sale.Busy, and then c keeps
// its progress, or with sale.Internal once all refunds that can be read are counted.
func (l *Ledger) CountRefunds(ctx context.Context, c *RefundCount) error {
	if c.began.IsZero() {
		c.began = l.now()
	}
	for !c.Complete {
		page, err := l.refundPage(ctx, c.SaleID, c.after, 0)
		if err != nil {
			return err
		}
		c.Due += page.due
		for _, r := range page.refunds {
			c.money.refund(r)
		}
		c.unreadable = cmp.Or(c.unreadable, errors.Join(page.unreadable...))
		c.after, c.Complete = page.last, page.last == ""
	}
	if c.Books != nil && c.unreadable == nil {
		if err := l.keepRefunds(ctx, c); err != nil {
			return err
		}
	}
	if c.Due > 0 || c.unreadable != nil || c.NotedAt.IsZero() || c.began.Sub(c.NotedAt) < forgetAfter {
		return sale.AsInternal(c.unreadable)
	}
	return unlessBusy(l.table.Update(ctx, table.Update{
		Key: table.ListingKey(c.SaleID), Expr: "REMOVE #refundAt", If: "#refundAt = :read",
		Values: table.Item{":read": table.Millis(c.NotedAt)},
	}))
}

// keepRefunds writes into the books of a sale what a count has found, if they are still those.
func (l *Ledger) keepRefunds(ctx context.Context, c *RefundCount) error {
	for code, one := range c.Books.Money {
		c.money.add(code, func(s *Sums) { s.Taken = one.Taken })
	}
	if c.Due == c.Books.RefundsDue && maps.Equal(c.money, c.Books.Money) {
		return nil
	}
	read, _ := json.Marshal(c.Books) // which never fails
	c.Books.RefundsDue, c.Books.Money = c.Due, c.money
	books, _ := json.Marshal(c.Books)
	return unlessBusy(l.table.Update(ctx, table.Update{
		Key: table.ListingKey(c.SaleID), Expr: "SET #books = :books", If: "#books = :read",
		Values: table.Item{":books": table.S(string(books)), ":read": table.S(string(read))},
	}))
}

// unlessBusy: a note in a listing that the busy table does not take, or keeps, only costs the next pass or count.
func unlessBusy(err error) error {
	if sale.CodeOf(err) == sale.Busy {
		return nil
	}
	return err
}

// Refunds returns the refunds of a sale, due and done, or those of unknown orders if the
// sale id is "". It fails with sale.Busy; or with sale.Internal, and then returns those that
// can be read.
func (l *Ledger) Refunds(ctx context.Context, saleID string) (refunds []sale.Refund, err error) {
	var unreadable []error
	for after, more := "", true; more; {
		page, err := l.refundPage(ctx, saleID, after, 0)
		if err != nil {
			return nil, err
		}
		refunds, unreadable = append(refunds, page.refunds...), append(unreadable, page.unreadable...)
		after, more = page.last, page.last != ""
	}
	return refunds, sale.AsInternal(errors.Join(unreadable...))
}

// MarkRefunded marks a refund as done, once, and reports whether this call did. payment
// is the id of its payment. It fails with sale.OrderNotFound if there is no such refund,
// with sale.Busy or sale.Internal.
func (l *Ledger) MarkRefunded(ctx context.Context, saleID, payment string) (sale.Refund, bool, error) {
	return l.markRefunded(ctx, saleID, payment, "")
}

// markRefunded notes by whom, too, unless actor is "".
func (l *Ledger) markRefunded(ctx context.Context, saleID, payment, actor string) (sale.Refund, bool, error) {
	now := l.now()
	set, values := "SET #refundedAt = :now", table.Item{":now": table.Millis(now)}
	if actor != "" {
		set += ", #refundedBy = :actor"
		values[":actor"] = table.S(actor)
	}
	marked, unsure, err := l.table.UpdateWithin(ctx, table.MaxTries, table.Update{
		Key: table.RefundKey(saleID, payment), Expr: set, Return: types.ReturnValueAllNew, ReturnOld: true,
		If: "attribute_exists(pk) AND attribute_not_exists(#refundedAt)", Values: values,
	})
	if err == nil {
		refund, err := table.ReadRefund(marked)
		return refund, true, sale.AsInternal(err)
	}
	refused, isRefused := errors.AsType[*types.ConditionalCheckFailedException](err)
	switch {
	case !isRefused:
		return sale.Refund{}, false, sale.AsInternal(err)
	case refused.Item == nil:
		return sale.Refund{}, false, noRefund
	}
	refund, err := table.ReadRefund(refused.Item)
	isOurs := unsure && refund.RefundedAt.UnixMilli() == now.UnixMilli() && refund.RefundedBy == actor
	return refund, isOurs, sale.AsInternal(err)
}

// PaidBack is what has become of a report that a payment was paid back.
type PaidBack struct {
	// Recorded: the payment was recorded, as its order's or as a refund due. SaleID is its order's sale, "" if unknown.
	Recorded bool
	SaleID   string
	// New: this report has marked the refund, or the order that stands although its payment is back.
	New bool
}

// PaidBack records that its provider has paid a payment back as a whole, once. A refund due is marked as
// done. If the payment has paid an order that stands, its claim is marked: it is the operators' to cancel the
// order, and then, as in a recall, the refund is done already. p must have passed CheckID. If it has an amount, that is
// what went back: another one than the payment's is a part, of which nothing is recorded. It fails with sale.Busy or
// sale.Internal.
func (l *Ledger) PaidBack(ctx context.Context, p sale.Payment) (PaidBack, error) {
	p.OrderID = 0 // the guard says which
	stored, err := l.readPayment(ctx, p)
	if err != nil || stored.guard == nil {
		return PaidBack{}, err
	}
	r := table.Read(stored.guard)
	done := PaidBack{Recorded: true, SaleID: r.OptionalText("saleId")}
	hasPaid := r.Text("fate") == table.FatePaid
	isPart := p.Amount != 0 && (p.Amount != r.Number("amount") || p.Currency != r.Text("currency"))
	switch {
	case r.Err != nil:
		return done, sale.AsInternal(r.Err)
	case isPart:
		return PaidBack{}, nil
	}
	_, done.New, err = l.MarkRefunded(ctx, done.SaleID, p.ID())
	switch isNone := sale.CodeOf(err) == sale.OrderNotFound; {
	case isNone && !hasPaid: // a transaction becomes visible item by item to plain reads
		return done, sale.Fail(sale.Busy, err)
	case !isNone:
		return done, err
	}
	o, err := l.Order(ctx, uint64(r.Number("orderId")))
	if sale.CodeOf(err) == sale.OrderNotFound { // it is archived
		return done, nil
	}
	if err != nil {
		return done, err
	}
	s, err := l.existing(ctx, table.MaxTries, o.SaleID)
	if err != nil {
		return done, internalIfMissing(err)
	}
	claim, _, err := l.table.UpdateWithin(ctx, table.MaxTries, table.Update{
		Key: (&ordered{o, s}).claimKey(), Expr: "SET #refundedAt = :now", Return: types.ReturnValueAllNew, ReturnOld: true,
		If:     "#payment = :payment AND attribute_not_exists(#refundedAt)",
		Values: table.Item{":now": table.Millis(l.now()), ":payment": table.S(p.ID())},
	})
	refused, isRefused := errors.AsType[*types.ConditionalCheckFailedException](err)
	switch {
	case isRefused && !table.Has(refused.Item, "refundedAt"):
		return done, sale.Fail(sale.Busy, errors.New("the claim is not where it was")) // its user is being erased
	case isRefused: // it was marked before, or by a try without an answer
		claim = refused.Item
	case err != nil:
		return done, sale.AsInternal(err)
	}
	done.New = !isRefused
	// A cancellation or a recall came first.
	if r := (table.Reader{Item: claim}); slices.Contains(r.OptionalTexts("refunds"), p.ID()) {
		_, _, err := l.MarkRefunded(ctx, o.SaleID, p.ID())
		return done, err
	}
	return done, nil
}

// noteAge is how old the newest refund that a sale's listing notes may be, when another one
// is recorded and not noted.
const noteAge = time.Hour

// putRefund records that a payment is to be refunded, once, together with its guard. The
// reason never changes: a claim that is paid or released stays so, and so does a price.
// o is nil if there is no such order.
//
// A refund of a sale's order is noted on its claim, where its buyer finds it, and in the
// sale's listing, where reconciliation finds it also after the sale was drained; but not if
// the listing notes one that is younger than noteAge, because transactions that write one
// item conflict when refunds are many.
func (l *Ledger) putRefund(
	ctx context.Context, p sale.Payment, reason sale.RefundReason, o *ordered,
) (Settlement, error) {
	refund := sale.Refund{
		Payment: p.ID(), OrderID: p.OrderID, Reason: reason, Amount: p.Amount, Currency: p.Currency, At: l.now(),
	}
	if reason != sale.RefundUnknownOrder {
		refund.SaleID, refund.User, refund.Labels = o.SaleID, o.User, o.sale.Labels
	}
	guard := l.table.Put(table.GuardItem(p, refund.SaleID, table.FateRefund, refund.At))
	put := l.table.Put(table.RefundItem(refund))
	_, isNoted := l.noted.Get(refund.SaleID, refund.At)
	noteSale, noteClaim := refund.SaleID != "" && !isNoted, refund.SaleID != ""
	for {
		actions := []types.TransactWriteItem{guard, put}
		switch {
		case noteClaim:
			actions = append(actions, l.noteRefund(p, o))
		case o == nil && p.OrderID != 0:
			actions = append(actions, l.ifUnordered(p))
		}
		if noteSale {
			actions = append(actions, l.setRefundAt(refund))
		}
		reasons, err := l.table.RetryTransaction(ctx, actions...)
		switch {
		case err == nil:
			if noteSale {
				l.noted.Put(refund.SaleID, struct{}{}, refund.At, refund.At.Add(noteAge))
			}
			return Settlement{SaleID: refund.SaleID, Refund: &refund, New: true}, nil
		case reasons == nil:
			return Settlement{}, sale.AsInternal(err)
		case table.Failed(reasons[0]):
			return l.fated(ctx, p, reasons[0].Item)
		case table.Failed(reasons[1]):
			return Settlement{}, sale.AsInternal(errors.New("the payment has a refund and no guard"))
		case table.Failed(reasons[2]) && o == nil:
			// The order has appeared meanwhile: the next report finds it.
			return Settlement{}, sale.Fail(sale.Busy, err)
		case table.Failed(reasons[2]) && noteClaim:
			held, err := o.claimOf(reasons[2].Item)
			switch {
			case err != nil:
				return Settlement{}, err
			case len(held.Refunds) < MaxClaimRefunds:
				return Settlement{}, sale.AsInternal(errors.New("read cancellation: the claim meets its condition"))
			}
			noteClaim = false
		default:
			l.keepNote(refund.SaleID, reasons[len(reasons)-1].Item, refund.At)
			noteSale = false
		}
	}
}

// MaxClaimRefunds is how many refunds a claim notes, so that a claim stays small.
const MaxClaimRefunds = 20

// noteRefund adds a payment to those of its claim that are to be refunded.
func (l *Ledger) noteRefund(p sale.Payment, o *ordered) types.TransactWriteItem {
	return l.table.Action(table.Update{
		Key: o.claimKey(), Expr: "ADD #refunds :refund", ReturnOld: true,
		If:     "#orderId = :orderId AND (attribute_not_exists(#refunds) OR size(#refunds) < :most)",
		Values: table.Item{":refund": table.SS(p.ID()), ":most": table.N(MaxClaimRefunds), ":orderId": table.N(int64(o.ID))},
	})
}

// RefundsOf returns the refunds of a claim's order, due and done, the oldest first and
// MaxClaimRefunds at most. A claim without any costs no call. It fails with sale.Busy or
// sale.Internal.
func (l *Ledger) RefundsOf(ctx context.Context, c sale.Claim) ([]sale.Refund, error) {
	if len(c.Refunds) == 0 {
		return nil, nil
	}
	keys := make([]table.Item, len(c.Refunds))
	for i, payment := range c.Refunds {
		keys[i] = table.RefundKey(c.SaleID, payment)
	}
	items, err := l.table.BatchGet(ctx, table.MaxTries, keys, true)
	if err != nil {
		return nil, err
	}
	var refunds []sale.Refund
	for _, it := range items {
		refund, err := table.ReadRefund(it)
		if err != nil {
			return nil, sale.AsInternal(err)
		}
		refunds = append(refunds, refund)
	}
	slices.SortFunc(refunds,
		func(a, b sale.Refund) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Payment, b.Payment)) })
	return refunds, nil
}

// setRefundAt sets the listing's refundAt to the refund's instant, unless it is younger than
// noteAge.
func (l *Ledger) setRefundAt(refund sale.Refund) types.TransactWriteItem {
	return l.table.Action(table.Update{
		Key: table.ListingKey(refund.SaleID), Expr: "SET #refundAt = :now", ReturnOld: true,
		If:     "attribute_exists(pk) AND (attribute_not_exists(#refundAt) OR #refundAt < :before)",
		Values: table.Item{":now": table.Millis(refund.At), ":before": table.Millis(refund.At.Add(-noteAge))},
	})
}

// keepNote remembers that the listing notes another refund.
func (l *Ledger) keepNote(saleID string, listing table.Item, now time.Time) {
	if r := (table.Reader{Item: listing}); table.Has(listing, "refundAt") {
		l.noted.Put(saleID, struct{}{}, now, r.Time("refundAt").Add(noteAge))
	}
}

// ifUnordered: a payment of an order that does not exist is refunded only while it does
// not: a payment of an order that exists is its order's, or is refunded for a reason of
// that order.
func (l *Ledger) ifUnordered(p sale.Payment) types.TransactWriteItem {
	return l.table.Check(table.OrderKey(p.OrderID), table.IfAbsent, nil)
}
