package ledger

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// A sale is sealed before anything of it is erased or archived. Without the user's claim and guard
// it would sell to the user again, so it must never sell again: no edit, addition, withdrawal or
// recall, and no new sale in its group. Whatever would take the sale back into reconciliation
// requires that its listing is not sealed; everything else looks at the sale, and is harmless
// if it has looked before.

// ifNotSealed is the condition on a sale's listing of everything that takes the sale back into
// reconciliation.
var ifNotSealed = "attribute_exists(pk) AND attribute_not_exists(#sealedAt)"

// refusedBySeal is edit.refused of an edit whose first other action requires ifNotSealed.
func refusedBySeal(others []types.CancellationReason) error {
	if isSealed(others[0]) {
		return sale.RefuseSealed()
	}
	return nil
}

// isSealed reports whether an action was refused because its listing, or its group, is sealed.
func isSealed(reason types.CancellationReason) bool {
	return failed(reason) && reason.Item["sealedAt"] != nil
}

// mayBeSealed returns the sales to seal with a sale: itself and those of its group. It fails with
// sale.Conflicting, which names the sale, if one of them is not drained or has a refund due.
func (l *Ledger) mayBeSealed(ctx context.Context, s sale.Sale) ([]string, error) {
	ids := []string{s.ID}
	if s.LimitGroup != "" {
		it, err := l.getWithin(ctx, patientTries, groupKey(s.LimitGroup))
		if err != nil {
			return nil, err
		}
		r := reading(it)
		if ids = r.optionalTexts("sales"); r.err != nil || !slices.Contains(ids, s.ID) {
			return nil, asInternal(errors.Join(r.err, errors.New("the group does not name its sale")))
		}
	}
	for _, id := range ids {
		listing, err := l.Listing(ctx, id)
		switch {
		case err != nil:
			return nil, err
		case !listing.Drained:
			return nil, refuseUndrained(id)
		}
		count := RefundCount{SaleID: id}
		if err := l.CountRefunds(ctx, &count); err != nil {
			return nil, err
		}
		if count.Due > 0 {
			return nil, sale.Refusef(sale.Conflicting, "%d refunds of the sale %s are due: refund and mark them first", count.Due, id)
		}
	}
	return ids, nil
}

func refuseUndrained(saleID string) error {
	return sale.Refusef(sale.Conflicting, "the sale %s is not drained: only what is over, and audited, can be sealed", saleID)
}

// seal seals sales that mayBeSealed has returned, first their group. The same again only sets the instant.
func (l *Ledger) seal(ctx context.Context, group string, ids []string) error {
	now := millis(l.now())
	if group != "" {
		err := l.retry(ctx, patientTries, func(ctx context.Context) error {
			_, err := l.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: l.table, Key: groupKey(group), UpdateExpression: &setSealedAt, ConditionExpression: aws.String("#sales = :sales"),
				ExpressionAttributeNames:  map[string]string{"#sealedAt": "sealedAt", "#sales": "sales"},
				ExpressionAttributeValues: item{":now": now, ":sales": &types.AttributeValueMemberSS{Value: ids}},
			})
			return err
		})
		if judge(err) == conditioned {
			return sale.Fail(sale.Busy, errors.New("a sale has joined the group meanwhile"))
		}
		if err != nil {
			return asInternal(err)
		}
	}
	for _, id := range ids {
		reasons, err := l.retryTransaction(ctx,
			types.TransactWriteItem{Update: &types.Update{
				TableName: l.table, Key: saleKey(id), UpdateExpression: aws.String(setSealedAt + ", #minReader = :reader"),
				ExpressionAttributeNames:  map[string]string{"#sealedAt": "sealedAt", "#minReader": attrMinReader},
				ExpressionAttributeValues: item{":now": now, ":reader": num(sale.ReadsSealed)},
			}},
			types.TransactWriteItem{Update: &types.Update{
				TableName: l.table, Key: listingKey(id), UpdateExpression: &setSealedAt, ConditionExpression: &ifDrained,
				ExpressionAttributeNames:  map[string]string{"#sealedAt": "sealedAt", "#drained": "drained"},
				ExpressionAttributeValues: item{":now": now},
			}},
		)
		if reasons != nil {
			return refuseUndrained(id)
		}
		if err != nil {
			return asInternal(err)
		}
	}
	return nil
}

var (
	setSealedAt = "SET #sealedAt = :now"
	ifDrained   = "attribute_exists(#drained)"
)
