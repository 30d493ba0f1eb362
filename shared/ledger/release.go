package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// maxReleases is how many claims one transaction releases.
const maxReleases = 25

// PayBy returns the instant by which a claim of the sale must be paid: payWithin after
// its order id was reserved, so a slow queue takes no time from a buyer. It is zero if
// the sale asks for no payment or the claim is pending.
func PayBy(s sale.Sale, c sale.Claim) time.Time {
	if s.PayWithin == 0 || c.OrderID == 0 {
		return time.Time{}
	}
	return payBy(s, c.OrderID)
}

func payBy(s sale.Sale, orderID uint64) time.Time { return orderid.Time(orderID).Add(s.PayWithin) }

// unpaid is what releasing needs to know of a claim. A pass holds many of them.
type unpaid struct {
	user    string
	orderID uint64
}

// Cancel releases the user's own claim. The same again gets the same answer. The unit
// goes back on sale with the next pass of ReleaseDue.
//
// It fails with sale.OrderNotFound; with sale.NotCancellable if the sale asks for no
// payment; with sale.OrderPending, sale.OrderPaid or sale.OrderExpired, each with the
// claim; with sale.SaleNotFound, sale.Busy or sale.Internal.
func (l *Ledger) Cancel(ctx context.Context, saleID, user string) (sale.Claim, error) {
	s, err := l.existing(ctx, maxTries, saleID)
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
	return sale.Claim{}, asInternal(errors.New("a released claim is in no final state"))
}

// release releases claims of one shard: up to maxReleases of them and the shard's count
// in one transaction. A claim that was paid or released meanwhile is left out, and the
// others are tried again. It does not write the sale item, so it does not conflict with the
// closing of a shard. It reports how many it released; a claim whose try had no answer may
// be missing in that.
//
// No claim of a paused shard expires, so an operator can pause a sale while payments cannot
// be reported. Once a pause is answered, no claim expires until the sale is resumed.
func (l *Ledger) release(ctx context.Context, s sale.Sale, k int, claims []unpaid, by sale.ReleasedBy) (int, error) {
	for len(claims) > 0 {
		reasons, err := l.retryTransaction(ctx, l.releaseClaims(s, k, claims, by)...)
		if reasons == nil {
			if err != nil {
				return 0, asInternal(err)
			}
			return len(claims), nil
		}
		ofShard, ofClaims := reasons[0], reasons[1:]
		var left []unpaid
		for i, c := range claims {
			if !failed(ofClaims[i]) {
				left = append(left, c)
				continue
			}
			held, err := readClaim(s.ID, s.Buckets, ofClaims[i].Item)
			switch {
			case err != nil:
				return 0, asInternal(err)
			case held.PaidAt.IsZero() && !held.Released():
				return 0, asInternal(fmt.Errorf("order %s is not the claim's", orderid.String(c.orderID)))
			}
		}
		if failed(ofShard) {
			return 0, errReleasePaused
		}
		claims = left
	}
	return 0, nil
}

// errReleasePaused: a paused sale releases nothing.
var errReleasePaused = sale.Refuse(sale.Paused, "the sale is paused")

func (l *Ledger) releaseClaims(s sale.Sale, k int, claims []unpaid, by sale.ReleasedBy) []types.TransactWriteItem {
	now := millis(l.now())
	// A shard without the count has nothing to add to, which is an error.
	count := types.Update{
		TableName:                 l.table,
		Key:                       stockKey(s.ID, k),
		UpdateExpression:          aws.String("SET #released = #released + :n"),
		ExpressionAttributeNames:  map[string]string{"#released": "released"},
		ExpressionAttributeValues: item{":n": num(int64(len(claims)))},
	}
	if by == sale.ByExpiry {
		count.ConditionExpression = aws.String("#paused = :no")
		count.ExpressionAttributeNames["#paused"], count.ExpressionAttributeValues[":no"] = "paused", no
	}
	actions := append(make([]types.TransactWriteItem, 0, 1+len(claims)), types.TransactWriteItem{Update: &count})
	for _, c := range claims {
		actions = append(actions, types.TransactWriteItem{Update: &types.Update{
			TableName:           l.table,
			Key:                 claimKey(s.ID, sale.BucketOf(c.user, s.Buckets), c.user),
			UpdateExpression:    aws.String("SET #releasedAt = :now, #releasedBy = :by"),
			ConditionExpression: aws.String("#orderId = :orderId AND " + ifNotFinal),
			ExpressionAttributeNames: map[string]string{
				"#releasedAt": "releasedAt", "#releasedBy": "releasedBy", "#paidAt": "paidAt", "#orderId": "orderId",
			},
			ExpressionAttributeValues:           item{":now": now, ":by": str(string(by)), ":orderId": num(int64(c.orderID))},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}})
	}
	return actions
}
