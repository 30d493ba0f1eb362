package ledger

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// Refunds returns the refunds of a sale, due and done, or those of unknown orders if the
// sale id is "". It fails with sale.Busy or sale.Internal.
func (l *Ledger) Refunds(ctx context.Context, saleID string) ([]sale.Refund, error) {
	items, err := l.queryAll(ctx, maxTries, dynamodb.QueryInput{
		KeyConditionExpression:    aws.String("#pk = :pk"),
		ExpressionAttributeNames:  map[string]string{"#pk": attrPK},
		ExpressionAttributeValues: item{":pk": refundKey(saleID, "")[attrPK]},
	})
	if err != nil {
		return nil, err
	}
	var refunds []sale.Refund
	for _, it := range items {
		refund, err := readRefund(it)
		if err != nil {
			return nil, asInternal(err)
		}
		refunds = append(refunds, refund)
	}
	return refunds, nil
}

// MarkRefunded marks a refund as done, once, and reports whether this call did. payment
// is the id of its payment. It fails with sale.OrderNotFound if there is no such refund,
// with sale.Busy or sale.Internal.
func (l *Ledger) MarkRefunded(ctx context.Context, saleID, payment string) (sale.Refund, bool, error) {
	now := l.now()
	var out *dynamodb.UpdateItemOutput
	unsure := false // a try had no answer: the mark may be this call's
	err := l.retry(ctx, maxTries, func(ctx context.Context) (err error) {
		out, err = l.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName:                           l.table,
			Key:                                 refundKey(saleID, payment),
			UpdateExpression:                    aws.String("SET #refundedAt = :now"),
			ConditionExpression:                 aws.String("attribute_exists(pk) AND attribute_not_exists(#refundedAt)"),
			ExpressionAttributeNames:            map[string]string{"#refundedAt": "refundedAt"},
			ExpressionAttributeValues:           item{":now": millis(now)},
			ReturnValues:                        types.ReturnValueAllNew,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		unsure = unsure || judge(err) == unknown
		return err
	})
	if err == nil {
		refund, err := readRefund(out.Attributes)
		return refund, true, asInternal(err)
	}
	refused, isRefused := errors.AsType[*types.ConditionalCheckFailedException](err)
	switch {
	case !isRefused:
		return sale.Refund{}, false, asInternal(err)
	case refused.Item == nil:
		return sale.Refund{}, false, sale.Refuse(sale.OrderNotFound, "no such refund")
	}
	refund, err := readRefund(refused.Item)
	return refund, unsure && refund.RefundedAt.UnixMilli() == now.UnixMilli(), asInternal(err)
}

// putRefund records that a payment is to be refunded, once, if the other actions succeed,
// too. A refund of a sale's order is noted in the sale's listing, where reconciliation finds
// it also after the sale was drained. The reason of a payment never changes: a claim that is
// paid or released stays so, and so does a price.
func (l *Ledger) putRefund(ctx context.Context, p sale.Payment, saleID string, reason sale.RefundReason, others ...types.TransactWriteItem) (Settlement, error) {
	refund := sale.Refund{
		SaleID: saleID, Payment: p.ID(), OrderID: p.OrderID, Reason: reason, Amount: p.Amount, Currency: p.Currency, At: l.now(),
	}
	actions := append([]types.TransactWriteItem{l.put(refundItem(refund))}, others...)
	if saleID != "" {
		actions = append(actions, types.TransactWriteItem{Update: &types.Update{
			TableName: l.table, Key: listingKey(saleID), UpdateExpression: aws.String("SET #refundAt = :now"),
			ConditionExpression:      aws.String("attribute_exists(pk)"),
			ExpressionAttributeNames: map[string]string{"#refundAt": "refundAt"}, ExpressionAttributeValues: item{":now": millis(refund.At)},
		}})
	}
	reasons, err := l.retryTransaction(ctx, actions...)
	switch {
	case err == nil:
		return Settlement{Refund: &refund, New: true}, nil
	case reasons == nil:
		return Settlement{}, asInternal(err)
	case failed(reasons[0]):
		return refundBefore(reasons[0].Item)
	}
	// The order has appeared meanwhile: the next report finds it.
	return Settlement{}, sale.Fail(sale.Busy, err)
}

// ifUnordered: a payment of an order that does not exist is refunded only while it does
// not. Otherwise a repeated report, which finds the order, could make the same payment its
// order's as well (P24).
func (l *Ledger) ifUnordered(p sale.Payment) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: l.table, Key: orderKey(p.OrderID), ConditionExpression: &ifAbsent,
	}}
}

// refundBefore is the settlement of a payment whose refund was recorded before.
func refundBefore(it item) (Settlement, error) {
	refund, err := readRefund(it)
	return Settlement{Refund: &refund}, asInternal(err)
}
