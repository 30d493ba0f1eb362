package ledger

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// Cancel releases the user's own claim. The same again gets the same answer. Its units
// go back on sale with the next pass of ReleaseDue.
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
	if _, err := l.release(ctx, s, held.Shard, []unpaid{unpaidOf(held)}, sale.ByBuyer); err != nil {
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

// OrderCancelled is an order that an operator has cancelled.
type OrderCancelled struct {
	sale.CancelledOrder
	Sale  sale.Sale // as it was before, or later
	Claim sale.Claim
	// Applied is false if the cancellation had been made before under its id.
	Applied bool
}

// CancelOrder cancels one order, paid or not, in one transaction: the claim, the sale, its listing and
// the entry that says who asked; if the units come back, its shard; of a paid order the refund due. So
// nothing is left to any pass: that of a sale that is over, or asks for no payment, would not come. The
// guard of the payment stays: it has paid the order.
//
// Its units are back in stock, under a new version of the sale and out of its empty shards (P6), or are kept
// from everybody: then they are not among the released ones that the shard counts. Either raises the version,
// so that no pass drains the sale by what it has read before.
//
// The same again, with the same ChangeID, gets the same answer. c must have passed Check.
//
// It fails with sale.ChangedMeanwhile, with the claim, if somebody else has cancelled the order or it is not
// in the state that the author has seen; with sale.Conflicting if the ChangeID was used for this order with
// other contents, the payment goes back already, or the sale is sealed; with sale.Recalled, because a
// recall finishes each order itself; with sale.OrderNotFound, sale.SaleNotFound, sale.Busy or sale.Internal.
func (l *Ledger) CancelOrder(ctx context.Context, c sale.Cancellation) (OrderCancelled, error) {
	attempt := l.newID()
	c.ChangeID = cmp.Or(c.ChangeID, attempt)
	o, err := l.Order(ctx, c.OrderID)
	switch {
	case err != nil:
		return OrderCancelled{}, err
	case o.SaleID != c.SaleID:
		return OrderCancelled{}, sale.Refuse(sale.OrderNotFound, "no such order in this sale")
	}
	for left := l.table.UpTo(table.PatientTries); ; {
		s, err := l.table.OpenSale(ctx, c.SaleID)
		if err != nil {
			return OrderCancelled{}, err
		}
		of := &ordered{o, s}
		entryKey := table.CancelledKey(s.ID, o.ID)
		stored, err := l.table.GetAll(ctx, []table.Item{of.claimKey(), entryKey})
		if err != nil {
			return OrderCancelled{}, err
		}
		held, err := of.claimOf(stored[table.IdentityOf(of.claimKey())])
		if err != nil {
			return OrderCancelled{}, err
		}
		if entry := stored[table.IdentityOf(entryKey)]; entry != nil {
			return alreadyCancelled(c, s, held, entry, attempt)
		}
		// The claim may show a cancellation before its entry does: whose it was is not known yet.
		if held.Unit == "" {
			if err := refuseToCancel(c, s, held); err != nil {
				return OrderCancelled{}, err
			}
			at := l.millis()
			actions, err := l.cancelOrder(ctx, c, of, held, at, attempt)
			if err != nil {
				return OrderCancelled{}, err
			}
			reasons, err := l.table.RetryTransaction(ctx, actions...)
			switch {
			case err == nil:
				return OrderCancelled{c.Entry(at), s, endedBy(c, held, at), true}, nil
			case reasons == nil:
				return OrderCancelled{}, err
			}
		}
		// Whoever decided, its write is in the table now.
		if !left.Again(ctx) {
			return OrderCancelled{}, sale.Fail(sale.Busy, errors.New("the cancellation of the order is not visible yet"))
		}
	}
}

// alreadyCancelled answers a request about an order that was cancelled.
func alreadyCancelled(
	c sale.Cancellation, s sale.Sale, held sale.Claim, entry table.Item, attempt string,
) (OrderCancelled, error) {
	made, err := table.ReadCancelled(entry)
	r := table.Reader{Item: entry}
	switch {
	case err != nil:
		return OrderCancelled{}, sale.AsInternal(err)
	case made.ID != c.ChangeID:
		return OrderCancelled{}, sale.RefuseCancelled(made, &held)
	case !c.Asks(made):
		return OrderCancelled{}, errOtherChange
	}
	return OrderCancelled{made, s, held, r.Text(otherName) == attempt}, sale.AsInternal(r.Err)
}

// refuseToCancel says why an order is not cancelled, which nobody has cancelled yet.
func refuseToCancel(c sale.Cancellation, s sale.Sale, held sale.Claim) error {
	switch {
	case s.IsSealed():
		return sale.RefuseSealed()
	case s.IsRecalled():
		return sale.RefuseRecalled()
	case held.State() != c.Expected:
		return sale.RefuseState(held.State(), &held)
	case slices.Contains(held.Refunds, held.Payment):
		return sale.Refuse(sale.Conflicting, "the payment of the order goes back already")
	}
	return nil
}

// cancelOrder returns the actions of a cancellation.
func (l *Ledger) cancelOrder(
	ctx context.Context, c sale.Cancellation, o *ordered, held sale.Claim, now time.Time, attempt string,
) ([]types.TransactWriteItem, error) {
	entry := table.CancelledItem(o.SaleID, c.Entry(now))
	entry[otherName] = table.S(attempt)
	ofSale := table.Update{
		Key: table.SaleKey(o.SaleID), Expr: "ADD #version :one, #cancelled :one", If: "attribute_not_exists(#recalledAt)",
		Values: table.Item{":one": table.One},
	}
	listing := table.Update{Key: table.ListingKey(o.SaleID), Expr: "REMOVE #drained", If: ifNotSealed}
	actions := []types.TransactWriteItem{l.table.Put(entry)}
	if c.Unit == sale.UnitBack {
		ofSale.Expr += " DELETE #empty :k"
		ofSale.Values[":k"] = table.NS(held.Shard)
		// The shards of a sale that asks for no payment have no counts yet.
		actions = append(actions, l.table.Action(table.Update{
			Key: table.StockKey(o.SaleID, held.Shard), Expr: "SET #stock = #stock + :n ADD #released :n, #putBack :n",
			Values: table.Item{":n": table.N(held.UnitCount())},
		}))
	}
	if held.State() == sale.Paid {
		guard, err := l.table.Get(ctx, table.PaymentKey(held.Payment))
		if err != nil {
			return nil, err
		}
		refund, err := refundOf(o.sale, paidOf(held), guard, sale.RefundCancelled, now)
		if err != nil {
			return nil, sale.AsInternal(err)
		}
		actions = append(actions, l.table.Put(table.RefundItem(refund)))
		listing.Expr, listing.Values = "SET #refundAt = :now REMOVE #drained", table.Item{":now": table.Millis(now)}
	}
	return append(actions,
		l.table.Action(endClaim(o, held, c.Unit, now)), l.table.Action(ofSale), l.table.Action(listing)), nil
}

// endedBy is the claim after the cancellation.
func endedBy(c sale.Cancellation, held sale.Claim, at time.Time) sale.Claim {
	if held.Unit = c.Unit; held.State() == sale.Paid {
		held.CancelledAt = at
	} else {
		held.ReleasedAt, held.ReleasedBy = at, sale.ByOperator
	}
	return held
}

// endClaim releases the claim of a cancelled order if it is not paid, and else notes that its payment goes
// back.
func endClaim(o *ordered, held sale.Claim, unit sale.Unit, now time.Time) table.Update {
	reader := table.N(int64(max(held.MinReader, sale.ReadsOperators)))
	u := table.Update{Key: o.claimKey(), Values: table.Item{":now": table.Millis(now), ":unit": table.S(string(unit))}}
	switch {
	case held.State() == sale.Paid:
		u.Expr = "SET #cancelledAt = :now, #unit = :unit, #minReader = :reader ADD #refunds :refund"
		condition, values := table.IfMoney(held.Returned) // or else the refund would not say the same
		u.If = "#payment = :payment AND attribute_not_exists(#cancelledAt) AND " + condition
		maps.Copy(u.Values, values)
		u.Values[":payment"], u.Values[":refund"], u.Values[":reader"] = table.S(held.Payment), table.SS(held.Payment), reader
		return u
	case unit == sale.UnitKept:
		u.Expr, u.Values[":reader"] = "SET #releasedAt = :now, #releasedBy = :by, #unit = :unit, #minReader = :reader", reader
	default:
		u.Expr = "SET #releasedAt = :now, #releasedBy = :by, #unit = :unit"
	}
	u.If = "#orderId = :orderId AND " + table.IfNotFinal
	u.Values[":by"], u.Values[":orderId"] = table.S(string(sale.ByOperator)), table.N(int64(o.ID))
	return u
}

// Cancelled returns who has cancelled the order of a claim, and why; nil if it was not an operator. It fails
// with sale.Busy, also while that cannot be seen, or with sale.Internal.
func (l *Ledger) Cancelled(ctx context.Context, c sale.Claim) (*sale.CancelledOrder, error) {
	if c.Unit == "" {
		return nil, nil
	}
	it, err := l.table.Get(ctx, table.CancelledKey(c.SaleID, c.OrderID))
	switch {
	case err != nil:
		return nil, err
	case it == nil: // plain reads see a transaction item by item
		return nil, sale.Fail(sale.Busy, errors.New("the cancellation of the order is not visible yet"))
	}
	made, err := table.ReadCancelled(it)
	return &made, sale.AsInternal(err)
}
