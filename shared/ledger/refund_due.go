package ledger

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

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
	fate := table.GuardOf(p, refund.SaleID, table.FateRefund)
	guard := l.table.Put(table.GuardItem(p.ID(), fate, refund.At))
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
			return Settlement{SaleID: refund.SaleID, Refund: &refund, New: true, guard: fate}, nil
		case reasons == nil:
			return Settlement{}, sale.AsInternal(err)
		case table.Failed(reasons[0]):
			return l.settlementOf(ctx, p, reasons[0].Item)
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

// refundReason says why a payment goes back that has not paid its order: "" if it may be
// its order's. of is nil if there is no such order; held is the order's claim, or only its units as
// long as it is not known to be final.
func refundReason(p sale.Payment, of *ordered, held sale.Claim) sale.RefundReason {
	switch {
	case of == nil || p.SaleID != "" && p.SaleID != of.SaleID:
		return sale.RefundUnknownOrder
	case !of.sale.IsPrice(p, held.UnitCount()):
		return sale.RefundAmount
	case !held.PaidAt.IsZero():
		return sale.RefundOtherPayment
	case held.Released():
		return sale.RefundReleased
	}
	return ""
}

// paid is what the refund of a payment that has paid its order needs to know of the claim.
type paid struct {
	user    string
	orderID uint64
	payment string
	// What the claim says was paid; "" if it does not.
	amount   int64
	currency string
	returned sale.Returned
}

func paidOf(c sale.Claim) paid {
	return paid{c.User, c.OrderID, c.Payment, c.Amount, c.Currency, c.Returned}
}

// noCurrency is ISO 4217's code for no currency.
const noCurrency = "XXX"

// refundOf returns the refund of a payment that has paid its order, of the amount that its guard says. A release that
// put no guards checked the price, if the sale has one, of orders of one unit; or else the amount is not known here.
func refundOf(s sale.Sale, c paid, guard table.Item, reason sale.RefundReason, at time.Time) (sale.Refund, error) {
	refund := sale.Refund{
		SaleID: s.ID, Payment: c.payment, OrderID: c.orderID, User: c.user, Reason: reason, Labels: s.Labels,
		Amount: s.Price, Currency: cmp.Or(s.Currency, noCurrency), At: at, Returned: c.returned,
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
func (l *Ledger) notePaid(s sale.Sale, c paid) types.TransactWriteItem {
	condition, values := table.IfMoney(c.returned) // or else the refund would not say the same
	return l.table.Action(table.Update{
		Key:  table.ClaimKey(s.ID, sale.BucketOf(c.user, s.Buckets), c.user),
		Expr: "ADD #refunds :refund", If: "#payment = :payment AND " + condition, ReturnOld: true,
		Values: table.With(values, table.Item{":refund": table.SS(c.payment), ":payment": table.S(c.payment)}),
	})
}

// maxRefunds is how many refunds one transaction records, with two actions each; see releasesAtOnce.
const maxRefunds = 12

// refundRecalled records that the payments of claims of a recalled sale go back, up to
// maxRefunds of them in one transaction, and reports how many it recorded. The guard of each
// stays: it says that the payment has paid its order. A refund that is there is done.
func (l *Ledger) refundRecalled(ctx context.Context, s sale.Sale, claims []paid) (done int, err error) {
	keys := make([]table.Item, len(claims))
	for i, c := range claims {
		keys[i] = table.PaymentKey(c.payment)
	}
	guards, err := l.table.GetAll(ctx, keys)
	if err != nil {
		return 0, err
	}
	for some := range slices.Chunk(claims, maxRefunds) {
		n, err := l.refundTogether(ctx, s, some, guards)
		if err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}

// refundTogether records the refunds of claims in one transaction.
func (l *Ledger) refundTogether(
	ctx context.Context, s sale.Sale, claims []paid, guards map[table.Identity]table.Item,
) (int, error) {
	now := l.now()
	_, isNoted := l.noted.Get(s.ID, now)
	for len(claims) > 0 {
		var actions []types.TransactWriteItem
		for _, c := range claims {
			refund, err := refundOf(s, c, guards[table.IdentityOf(table.PaymentKey(c.payment))], sale.RefundRecalled, now)
			if err != nil {
				return 0, sale.AsInternal(err)
			}
			actions = append(actions, l.table.Put(table.RefundItem(refund)), l.notePaid(s, c))
		}
		if !isNoted {
			actions = append(actions, l.setRefundAt(sale.Refund{SaleID: s.ID, At: now}))
		}
		reasons, err := l.table.RetryTransaction(ctx, actions...)
		if reasons == nil {
			if err == nil && !isNoted {
				l.noted.Put(s.ID, struct{}{}, now, now.Add(noteAge))
			}
			return len(claims), sale.AsInternal(err)
		}
		left := claims[:0:0]
		for i, c := range claims {
			if claim := reasons[2*i+1]; table.Failed(claim) {
				now, err := table.ReadReturned(claim.Item)
				if err != nil || now == c.returned {
					return 0, sale.AsInternal(cmp.Or(err, errors.New("a paid claim of a recalled sale has changed")))
				}
				c.returned = now
			}
			if !table.Failed(reasons[2*i]) {
				left = append(left, c)
			}
		}
		claims = left
		if last := reasons[len(reasons)-1]; table.Failed(last) {
			l.keepNote(s.ID, last.Item, now)
			isNoted = true
		}
	}
	return 0, nil
}

// refundAllRecalled records the refunds of paid claims of a recalled sale: the first one alone, because it
// notes in the listing that there are refunds, for which others would conflict, and then
// several batches at once. It reports how many it recorded.
func (l *Ledger) refundAllRecalled(ctx context.Context, s sale.Sale, claims []paid) (done int, err error) {
	if len(claims) == 0 {
		return 0, nil
	}
	const most = table.BatchKeys / maxRefunds * maxRefunds // of which one call reads the guards
	batches := append([][]paid{claims[:1]}, slices.Collect(slices.Chunk(claims[1:], most))...)
	refunded, errs := make([]int, len(batches)), make([]error, len(batches))
	for _, at := range []int{0, 1} {
		upTo := max(1, at*len(batches))
		table.Each(upTo-at, func(i int) { refunded[at+i], errs[at+i] = l.refundRecalled(ctx, s, batches[at+i]) })
	}
	for _, n := range refunded {
		done += n
	}
	return done, sale.AsInternal(table.Worst("batch of refunds", errs))
}
