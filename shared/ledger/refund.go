package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// Refunds returns the refunds of a sale, due and done, or those of unknown orders if the
// sale id is "". It fails with sale.Busy; or with sale.Internal, and then returns those that
// can be read.
func (l *Ledger) Refunds(ctx context.Context, saleID string) ([]sale.Refund, error) {
	refunds, unreadable, err := l.readRefunds(ctx, saleID)
	return refunds, cmp.Or(err, asInternal(errors.Join(unreadable...)))
}

// readRefunds returns the refunds that can be read, and why others cannot.
func (l *Ledger) readRefunds(ctx context.Context, saleID string) (refunds []sale.Refund, unreadable []error, err error) {
	items, err := l.refundItems(ctx, saleID)
	for _, it := range items {
		refund, err := readRefund(it)
		if err != nil {
			unreadable = append(unreadable, fmt.Errorf("refund %q: %w", identityOf(it).sk, err))
			continue
		}
		refunds = append(refunds, refund)
	}
	return refunds, unreadable, err
}

func (l *Ledger) refundItems(ctx context.Context, saleID string) ([]item, error) {
	return l.queryAll(ctx, patientTries, dynamodb.QueryInput{
		KeyConditionExpression:    aws.String("#pk = :pk"),
		ExpressionAttributeNames:  map[string]string{"#pk": attrPK},
		ExpressionAttributeValues: item{":pk": refundKey(saleID, "")[attrPK]},
	})
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

// noteAge is how old the newest refund that a sale's listing notes may be, when another one
// is recorded and not noted.
const noteAge = time.Hour

// putRefund records that a payment is to be refunded, once, if the other actions succeed,
// too. A refund of a sale's order is noted in the sale's listing, where reconciliation finds
// it also after the sale was drained; but not if the listing notes one that is younger than
// noteAge, because transactions that write one item conflict when refunds are many. The
// reason of a payment never changes: a claim that is paid or released stays so, and so does
// a price.
func (l *Ledger) putRefund(ctx context.Context, p sale.Payment, saleID string, reason sale.RefundReason, others ...types.TransactWriteItem) (Settlement, error) {
	refund := sale.Refund{
		SaleID: saleID, Payment: p.ID(), OrderID: p.OrderID, Reason: reason, Amount: p.Amount, Currency: p.Currency, At: l.now(),
	}
	actions := append([]types.TransactWriteItem{l.put(refundItem(refund))}, others...)
	_, isNoted := l.noted.Get(saleID, refund.At)
	isNoted = isNoted || saleID == ""
	for {
		all := actions
		if !isNoted {
			all = append(all, l.setRefundAt(refund))
		}
		reasons, err := l.retryTransaction(ctx, all...)
		switch {
		case err == nil:
			if !isNoted {
				l.noted.Put(saleID, struct{}{}, refund.At, refund.At.Add(noteAge))
			}
			return Settlement{Refund: &refund, New: true}, nil
		case reasons == nil:
			return Settlement{}, asInternal(err)
		case failed(reasons[0]):
			return refundBefore(reasons[0].Item)
		case isNoted:
			// The order has appeared meanwhile: the next report finds it.
			return Settlement{}, sale.Fail(sale.Busy, err)
		}
		// The listing notes another refund.
		if r := (reader{item: reasons[len(reasons)-1].Item}); r.item["refundAt"] != nil {
			l.noted.Put(saleID, struct{}{}, refund.At, r.time("refundAt").Add(noteAge))
		}
		isNoted = true
	}
}

// setRefundAt sets the listing's refundAt to the refund's instant, unless it is younger than
// noteAge.
func (l *Ledger) setRefundAt(refund sale.Refund) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: l.table, Key: listingKey(refund.SaleID), UpdateExpression: aws.String("SET #refundAt = :now"),
		ConditionExpression:       aws.String("attribute_exists(pk) AND (attribute_not_exists(#refundAt) OR #refundAt < :before)"),
		ExpressionAttributeNames:  map[string]string{"#refundAt": "refundAt"},
		ExpressionAttributeValues: item{":now": millis(refund.At), ":before": millis(refund.At.Add(-noteAge))},

		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
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
