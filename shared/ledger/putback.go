package ledger

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// putBack puts the released units of a sale back into stock, shard by shard: each
// transaction writes the sale item, so concurrent ones would only conflict. It returns
// how many units it put back; units of a try without an answer may be missing in that.
func (l *Ledger) putBack(ctx context.Context, s sale.Sale) (units int64, err error) {
	keys := make([]item, s.Shards)
	for k := range keys {
		keys[k] = stockKey(s.ID, k)
	}
	stored, err := l.getAll(ctx, keys)
	if err != nil {
		return 0, err
	}
	for k := range s.Shards {
		one, err := readShard(stored[identityOf(stockKey(s.ID, k))])
		if err != nil {
			return units, asInternal(fmt.Errorf("shard %d: %w", k, err))
		}
		n, err := l.putBackShard(ctx, s.ID, k, one)
		if err != nil {
			return units, err
		}
		units += n
	}
	return units, nil
}

// putBackShard puts the released units of one shard back. The transaction requires that the
// shard's putBack is what was read, so a repeat changes nothing. It also raises the sale's
// version and takes the shard out of the empty set, as an addition does (P6).
func (l *Ledger) putBackShard(ctx context.Context, saleID string, k int, one shard) (int64, error) {
	for one.released > one.putBack {
		units := one.released - one.putBack
		reasons, err := l.retryTransaction(ctx,
			types.TransactWriteItem{Update: &types.Update{
				TableName:                           l.table,
				Key:                                 stockKey(saleID, k),
				UpdateExpression:                    aws.String("SET #stock = #stock + :n, #putBack = :r"),
				ConditionExpression:                 aws.String("#putBack = :p"),
				ExpressionAttributeNames:            map[string]string{"#stock": "stock", "#putBack": "putBack"},
				ExpressionAttributeValues:           item{":n": num(units), ":r": num(one.released), ":p": num(one.putBack)},
				ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
			}},
			types.TransactWriteItem{Update: &types.Update{
				TableName:                 l.table,
				Key:                       saleKey(saleID),
				UpdateExpression:          aws.String("SET #version = #version + :one DELETE #empty :k"),
				ConditionExpression:       aws.String("#state = :open"),
				ExpressionAttributeNames:  map[string]string{"#version": "version", "#empty": "empty", "#state": "state"},
				ExpressionAttributeValues: item{":one": num(1), ":k": numberSet(k), ":open": str(string(sale.Open))},
			}},
		)
		if reasons == nil {
			return units, asInternal(err)
		}
		if !failed(reasons[0]) {
			return 0, asInternal(err)
		}
		// Another call, or a try of this one, has put some back. putBack only grows, so
		// this loop ends.
		before := one.putBack
		var readErr error
		if one, readErr = readShard(reasons[0].Item); readErr != nil || one.putBack <= before {
			return 0, asInternal(fmt.Errorf("shard %d has %d put back: %w", k, one.putBack, err))
		}
	}
	return 0, nil
}
