package ledger

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/orderid"
)

// ReserveOrderIDs reserves a block of n order ids in one write. The ids' second and
// their sequence's day come from one instant. A lost answer wastes a block: gaps are
// allowed, duplicates are not.
func (l *Ledger) ReserveOrderIDs(ctx context.Context, n int) ([]uint64, error) {
	if n == 0 {
		return nil, nil
	}
	now := l.now()
	var out *dynamodb.UpdateItemOutput
	err := l.retry(ctx, patientTries, func(ctx context.Context) (err error) {
		out, err = l.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName:                 l.table,
			Key:                       sequenceKey(orderid.Day(now)),
			UpdateExpression:          &advance,
			ExpressionAttributeNames:  advanceNames,
			ExpressionAttributeValues: item{":n": num(int64(n))},
			ReturnValues:              types.ReturnValueUpdatedNew,
		})
		return err
	})
	if err != nil {
		return nil, asInternal(err)
	}
	r := reader{item: out.Attributes}
	last := r.number("next")
	if r.err != nil {
		return nil, asInternal(r.err)
	}
	ids := make([]uint64, n)
	for i := range ids {
		if ids[i], err = orderid.New(now, uint64(last-int64(n)+int64(i)+1)); err != nil {
			return nil, asInternal(err)
		}
	}
	return ids, nil
}

var (
	advance      = "ADD #next :n"
	advanceNames = map[string]string{"#next": "next"}
)
