package dynamotest

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// GetItem is DynamoDB's GetItem.
func (db *DB) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	r, err := db.getRequest(in)
	return run[dynamodb.GetItemOutput](ctx, db, "GetItem", in, r, err)
}

func (db *DB) getRequest(in *dynamodb.GetItemInput) (request, error) {
	t, err := db.tableNamed(in.TableName)
	if err != nil {
		return request{}, err
	}
	k, err := t.keyOf(in.Key)
	if err != nil {
		return request{}, err
	}
	consistent := aws.ToBool(in.ConsistentRead)
	return request{keys: []string{k.String()}, evaluate: func(m moment) (any, error) {
		it := t.get(k, db.view(m, consistent))
		db.bill(0, readUnits(it.size, consistent))
		return &dynamodb.GetItemOutput{Item: it.item.copied()}, nil
	}}, nil
}

func (db *DB) view(m moment, consistent bool) view {
	return view{now: m.now, consistent: consistent, stale: m.fault.Stale, lag: db.Lag}
}

// PutItem is DynamoDB's PutItem.
func (db *DB) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	r, err := db.writeRequest(writeInput{
		action: actionPut, table: in.TableName, key: in.Item, condition: in.ConditionExpression,
		names: in.ExpressionAttributeNames, values: in.ExpressionAttributeValues, onFailure: in.ReturnValuesOnConditionCheckFailure,
	}, func(*write, item, float64) any { return &dynamodb.PutItemOutput{} })
	return run[dynamodb.PutItemOutput](ctx, db, "PutItem", in, r, err)
}

// UpdateItem is DynamoDB's UpdateItem.
func (db *DB) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	returns, asked := in.ReturnValues, in.ReturnConsumedCapacity
	r, err := db.writeRequest(writeInput{
		action: actionUpdate, table: in.TableName, key: in.Key, update: in.UpdateExpression, condition: in.ConditionExpression,
		names: in.ExpressionAttributeNames, values: in.ExpressionAttributeValues, onFailure: in.ReturnValuesOnConditionCheckFailure,
	}, func(w *write, it item, units float64) any {
		return &dynamodb.UpdateItemOutput{Attributes: w.returned(returns, it).copied(), ConsumedCapacity: db.consumed(asked, units)}
	})
	if !slices.Contains([]types.ReturnValue{"", types.ReturnValueAllNew, types.ReturnValueUpdatedNew}, returns) {
		err = validation("dynamotest does not know ReturnValues %q", string(returns))
	}
	return run[dynamodb.UpdateItemOutput](ctx, db, "UpdateItem", in, r, err)
}

// DeleteItem is DynamoDB's DeleteItem.
func (db *DB) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	r, err := db.writeRequest(writeInput{action: actionDelete, table: in.TableName, key: in.Key},
		func(*write, item, float64) any { return &dynamodb.DeleteItemOutput{} })
	return run[dynamodb.DeleteItemOutput](ctx, db, "DeleteItem", in, r, err)
}

// writeRequest is a write of a single item. Its output is made by answer, out of what the item
// becomes and what the write costs.
func (db *DB) writeRequest(in writeInput, answer func(w *write, it item, units float64) any) (request, error) {
	w, err := db.newWrite(in)
	if err != nil {
		return request{}, err
	}
	return request{keys: []string{w.key.String()}, evaluate: func(m moment) (any, error) {
		it, units, err := db.attempt(w, db.busy(w.key, m.now), 1)
		if err != nil {
			return nil, err
		}
		db.store(w, it, m.now)
		return answer(w, it.item, units), nil
	}}, nil
}

// returned is what ReturnValues asks for; nil if there is nothing of it.
func (w *write) returned(returns types.ReturnValue, it item) item {
	switch returns {
	case types.ReturnValueAllNew:
		return it
	case types.ReturnValueUpdatedNew:
		written := item{}
		for _, a := range w.update {
			if name := w.scope.name(a.name); it[name] != nil {
				written[name] = it[name]
			}
		}
		return written
	}
	return nil
}
