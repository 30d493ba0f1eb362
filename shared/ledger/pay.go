package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// LateOrder is how old an order id must be before a payment that names it, and finds no
// order item, is of an unknown order. Until then the item may still be late: the message
// may be repeated, or reconciliation may have to put it.
const LateOrder = 24 * time.Hour

// Settlement is what became of a payment: it is its order's, or a refund is due (P24).
type Settlement struct {
	// Claim is the paid claim, if Refund is nil.
	Claim sale.Claim
	// Refund is the refund due, or nil.
	Refund *sale.Refund
	// New is false if the payment was recorded before, or by a try of this call whose
	// answer was lost.
	New bool
}

// Pay records a verified payment: as its order's, by one conditional write of the claim,
// or else as a refund due. The same payment again gets the same answer. The first of the two
// writes on the claim decides between payment and release, not a clock. p must have passed
// Check.
//
// It does not matter whether the sale asks for payment: an order of any sale can be paid.
// A price is compared, if the sale has one.
//
// It fails with sale.Busy when the outcome is unknown or the order item may be late, and
// then the provider must report the payment again; with sale.Internal.
func (l *Ledger) Pay(ctx context.Context, p sale.Payment) (Settlement, error) {
	if p.OrderID == 0 {
		return l.putRefund(ctx, p, "", sale.RefundUnknownOrder)
	}
	it, err := l.get(ctx, orderKey(p.OrderID))
	if err != nil {
		return Settlement{}, err
	}
	age := l.now().Sub(orderid.Time(p.OrderID)).Abs()
	if it == nil {
		if age < LateOrder {
			return Settlement{}, sale.Fail(sale.Busy, errors.New("the payment's order does not exist yet"))
		}
		return l.putRefund(ctx, p, "", sale.RefundUnknownOrder, l.ifUnordered(p))
	}
	o, err := readOrder(it)
	switch {
	case err != nil:
		return Settlement{}, asInternal(err)
	case p.SaleID != "" && p.SaleID != o.SaleID:
		return l.putRefund(ctx, p, "", sale.RefundUnknownOrder)
	}
	if age >= LateOrder/2 {
		// The order may have been missing when the payment was reported first. The order
		// was read before, and the refund of an unknown order is put only while there is
		// none, so a refund that is not there now never will be.
		it, err := l.get(ctx, refundKey("", p.ID()))
		if err != nil {
			return Settlement{}, err
		}
		if it != nil {
			return refundBefore(it)
		}
	}
	s, err := l.existing(ctx, maxTries, o.SaleID)
	switch {
	case err != nil:
		return Settlement{}, internalIfMissing(err)
	case s.Price != 0 && (p.Amount != s.Price || p.Currency != s.Currency):
		return l.putRefund(ctx, p, o.SaleID, sale.RefundAmount)
	}
	return l.payClaim(ctx, p, o, s)
}

// internalIfMissing: an order's sale always exists.
func internalIfMissing(err error) error {
	if sale.CodeOf(err) == sale.SaleNotFound {
		return sale.Fail(sale.Internal, err)
	}
	return err
}

// payClaim writes the payment on its claim unless that is paid or released.
func (l *Ledger) payClaim(ctx context.Context, p sale.Payment, o sale.Order, s sale.Sale) (Settlement, error) {
	now := l.now()
	var out *dynamodb.UpdateItemOutput
	err := l.retry(ctx, maxTries, func(ctx context.Context) (err error) {
		out, err = l.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName:           l.table,
			Key:                 claimKey(s.ID, sale.BucketOf(o.User, s.Buckets), o.User),
			UpdateExpression:    aws.String("SET #paidAt = :now, #payment = :payment"),
			ConditionExpression: aws.String("#orderId = :orderId AND " + ifNotFinal),
			ExpressionAttributeNames: map[string]string{
				"#paidAt": "paidAt", "#payment": "payment", "#releasedAt": "releasedAt", "#orderId": "orderId",
			},
			ExpressionAttributeValues:           item{":now": millis(now), ":payment": str(p.ID()), ":orderId": num(int64(o.ID))},
			ReturnValues:                        types.ReturnValueAllNew,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		return err
	})
	if err == nil {
		claim, err := readClaim(s.ID, s.Buckets, out.Attributes)
		return Settlement{Claim: claim, New: true}, asInternal(err)
	}
	refused, isRefused := errors.AsType[*types.ConditionalCheckFailedException](err)
	if !isRefused {
		return Settlement{}, asInternal(err)
	}
	held, err := readClaim(s.ID, s.Buckets, refused.Item)
	switch {
	case err != nil:
		return Settlement{}, asInternal(err)
	case held.Payment == p.ID():
		return Settlement{Claim: held}, nil
	case held.State() == sale.Paid:
		return l.putRefund(ctx, p, s.ID, sale.RefundOtherPayment)
	case held.Released():
		return l.putRefund(ctx, p, s.ID, sale.RefundReleased)
	}
	return Settlement{}, asInternal(errors.New("the order's claim is another one"))
}

// ifNotFinal: neither paid nor released. Either is written only under this condition, so
// a claim never has both (P20).
const ifNotFinal = "attribute_not_exists(#paidAt) AND attribute_not_exists(#releasedAt)"
