package dynamotest

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// legacy refuses the parameters from before there were expressions.
func legacy(used ...bool) error {
	if slices.Contains(used, true) {
		return validation("dynamotest knows no legacy conditional parameters: use expressions")
	}
	return nil
}

// unprojected refuses a read of a part of an item.
func unprojected(attributesToGet bool, expression *string) error {
	if expression != nil {
		return validation("dynamotest does not know a ProjectionExpression: %s", *expression)
	}
	return legacy(attributesToGet)
}

// GetItem is DynamoDB's GetItem.
func (db *DB) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	r, err := db.getRequest(in)
	return run[dynamodb.GetItemOutput](ctx, db, "GetItem", in, r, err)
}

func (db *DB) getRequest(in *dynamodb.GetItemInput) (request, error) {
	if err := unprojected(in.AttributesToGet != nil, in.ProjectionExpression); err != nil {
		return request{}, err
	}
	t, err := db.tableNamed(in.TableName)
	if err != nil {
		return request{}, err
	}
	k, err := t.keyOf(in.Key)
	if err != nil {
		return request{}, err
	}
	consistent, asked := aws.ToBool(in.ConsistentRead), in.ReturnConsumedCapacity
	return request{keys: []string{k.String()}, evaluate: func(m moment) (any, error) {
		it := t.get(k, db.view(m, consistent))
		cost := readUnits(it.size(), consistent)
		return &dynamodb.GetItemOutput{Item: it.copied(), ConsumedCapacity: db.bill(asked, 0, cost)}, nil
	}}, nil
}

func (db *DB) view(m moment, consistent bool) view {
	return view{now: m.now, consistent: consistent, stale: m.fault.Stale, lag: db.Lag}
}

// PutItem is DynamoDB's PutItem.
func (db *DB) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	err := legacy(in.Expected != nil, in.ConditionalOperator != "")
	var r request
	if err == nil {
		r, err = db.writeRequest(writeInput{
			action: actionPut, table: in.TableName, key: in.Item, condition: in.ConditionExpression,
			names: in.ExpressionAttributeNames, values: in.ExpressionAttributeValues, onFailure: in.ReturnValuesOnConditionCheckFailure,
		}, in.ReturnValues, in.ReturnConsumedCapacity, func(attributes item, used *types.ConsumedCapacity) any {
			return &dynamodb.PutItemOutput{Attributes: attributes, ConsumedCapacity: used}
		})
	}
	return run[dynamodb.PutItemOutput](ctx, db, "PutItem", in, r, err)
}

// UpdateItem is DynamoDB's UpdateItem.
func (db *DB) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	err := legacy(in.Expected != nil, in.ConditionalOperator != "", in.AttributeUpdates != nil)
	var r request
	if err == nil {
		r, err = db.writeRequest(writeInput{
			action: actionUpdate, table: in.TableName, key: in.Key, update: in.UpdateExpression, condition: in.ConditionExpression,
			names: in.ExpressionAttributeNames, values: in.ExpressionAttributeValues, onFailure: in.ReturnValuesOnConditionCheckFailure,
		}, in.ReturnValues, in.ReturnConsumedCapacity, func(attributes item, used *types.ConsumedCapacity) any {
			return &dynamodb.UpdateItemOutput{Attributes: attributes, ConsumedCapacity: used}
		})
	}
	return run[dynamodb.UpdateItemOutput](ctx, db, "UpdateItem", in, r, err)
}

// DeleteItem is DynamoDB's DeleteItem.
func (db *DB) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	err := legacy(in.Expected != nil, in.ConditionalOperator != "")
	var r request
	if err == nil {
		r, err = db.writeRequest(writeInput{
			action: actionDelete, table: in.TableName, key: in.Key, condition: in.ConditionExpression,
			names: in.ExpressionAttributeNames, values: in.ExpressionAttributeValues, onFailure: in.ReturnValuesOnConditionCheckFailure,
		}, in.ReturnValues, in.ReturnConsumedCapacity, func(attributes item, used *types.ConsumedCapacity) any {
			return &dynamodb.DeleteItemOutput{Attributes: attributes, ConsumedCapacity: used}
		})
	}
	return run[dynamodb.DeleteItemOutput](ctx, db, "DeleteItem", in, r, err)
}

// writeRequest is a write of a single item, whose output is made by answer.
func (db *DB) writeRequest(in writeInput, returns types.ReturnValue, asked types.ReturnConsumedCapacity,
	answer func(item, *types.ConsumedCapacity) any) (request, error) {
	switch returns {
	case "", types.ReturnValueNone:
	case types.ReturnValueAllNew, types.ReturnValueUpdatedNew:
		if in.action != actionUpdate {
			return request{}, validation("Return values set to invalid value")
		}
	default:
		return request{}, validation("dynamotest does not know ReturnValues %q", string(returns))
	}
	w, err := db.newWrite(in)
	if err != nil {
		return request{}, err
	}
	return request{keys: []string{w.key.String()}, evaluate: func(m moment) (any, error) {
		old := w.table.current(w.key)
		if db.busy(w.key, m.now) {
			db.bill("", writeUnits(old, nil), 0)
			return nil, conflict()
		}
		it, err := w.result(old)
		used := db.bill(asked, writeUnits(old, it), 0)
		if err != nil {
			return nil, err
		}
		db.store(w, it, m.now)
		return answer(w.returned(returns, it).copied(), used), nil
	}}, nil
}

// returned is what ReturnValues asks for; nil if there is nothing of it.
func (w *write) returned(returns types.ReturnValue, it item) item {
	switch returns {
	case types.ReturnValueAllNew:
		return it
	case types.ReturnValueUpdatedNew:
		var written item
		for _, a := range w.update {
			if v := it[a.name]; v != nil {
				if written == nil {
					written = item{}
				}
				written[a.name] = v
			}
		}
		return written
	}
	return nil
}
