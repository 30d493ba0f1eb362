package dynamotest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	maxActions         = 100
	maxTransactionSize = 4 << 20 // bytes
)

// TransactWriteItems is DynamoDB's TransactWriteItems.
func (db *DB) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	var r request
	writes, err := db.transactionWrites(in)
	if err == nil {
		r = request{keys: keysOf(writes), evaluate: func(m moment) (any, error) { return db.commit(writes, m) }}
	}
	return run[dynamodb.TransactWriteItemsOutput](ctx, db, "TransactWriteItems", in, r, err)
}

// transactionInput reads one action of a transaction.
func transactionInput(a types.TransactWriteItem) (writeInput, error) {
	var all []writeInput
	if p := a.Put; p != nil {
		all = append(all, writeInput{
			action: actionPut, table: p.TableName, key: p.Item, condition: p.ConditionExpression,
			names: p.ExpressionAttributeNames, values: p.ExpressionAttributeValues, onFailure: p.ReturnValuesOnConditionCheckFailure,
		})
	}
	if u := a.Update; u != nil {
		if u.UpdateExpression == nil {
			return writeInput{}, validation("The update expression of a transaction must not be null")
		}
		all = append(all, writeInput{
			action: actionUpdate, table: u.TableName, key: u.Key, update: u.UpdateExpression, condition: u.ConditionExpression,
			names: u.ExpressionAttributeNames, values: u.ExpressionAttributeValues, onFailure: u.ReturnValuesOnConditionCheckFailure,
		})
	}
	if d := a.Delete; d != nil {
		all = append(all, writeInput{
			action: actionDelete, table: d.TableName, key: d.Key, condition: d.ConditionExpression,
			names: d.ExpressionAttributeNames, values: d.ExpressionAttributeValues, onFailure: d.ReturnValuesOnConditionCheckFailure,
		})
	}
	if c := a.ConditionCheck; c != nil {
		if c.ConditionExpression == nil {
			return writeInput{}, validation("The condition expression of a condition check must not be null")
		}
		all = append(all, writeInput{
			action: actionCheck, table: c.TableName, key: c.Key, condition: c.ConditionExpression,
			names: c.ExpressionAttributeNames, values: c.ExpressionAttributeValues, onFailure: c.ReturnValuesOnConditionCheckFailure,
		})
	}
	if len(all) != 1 {
		return writeInput{}, validation("TransactItems can only contain one of Check, Put, Update or Delete")
	}
	return all[0], nil
}

// transactionWrites reads and checks a transaction.
func (db *DB) transactionWrites(in *dynamodb.TransactWriteItemsInput) ([]*write, error) {
	if n := len(in.TransactItems); n == 0 || n > maxActions {
		return nil, validation("Value at 'transactItems' failed to satisfy constraint: Member must have length between 1 and %d", maxActions)
	}
	var writes []*write
	seen, size := map[key]bool{}, 0
	for _, a := range in.TransactItems {
		input, err := transactionInput(a)
		if err != nil {
			return nil, err
		}
		w, err := db.newWrite(input)
		if err != nil {
			return nil, err
		}
		if seen[w.key] {
			return nil, validation("Transaction request cannot include multiple operations on one item")
		}
		seen[w.key] = true
		if size += w.item.size; size > maxTransactionSize {
			return nil, validation("Transaction request size exceeds the limit of 4 MB")
		}
		writes = append(writes, w)
	}
	return writes, nil
}

func keysOf(writes []*write) []string {
	keys := make([]string, 0, len(writes))
	for _, w := range writes {
		keys = append(keys, w.key.String())
	}
	return keys
}

// commit applies all writes or none. db.mu is held.
func (db *DB) commit(writes []*write, m moment) (any, error) {
	results := make([]version, len(writes))
	reasons := make([]types.CancellationReason, len(writes))
	accepted := 0
	db.forgetLanded(m.now)
	for i, w := range writes {
		var err error
		results[i], _, err = db.attempt(w, db.busy(w.key, m.now), transactional)
		if reasons[i] = reasonOf(err); err == nil {
			accepted++
			// The item is in flight until the outcome has been applied to it, whatever the
			// outcome is, and whether or not it has been applied to the others.
			if busy := max(db.Busy, m.fault.hiding(i)); busy > 0 {
				db.inFlight[w.key] = m.now.Add(busy)
			}
		}
	}
	cancelled := m.fault.disguise(reasons)
	if cancelled || accepted < len(writes) {
		return nil, canceledFor(reasons)
	}
	for i, w := range writes {
		db.store(w, results[i], m.now)
		if hidden := m.fault.hiding(i); hidden > 0 && w.action != actionCheck {
			w.table.hide(w.key, m.now.Add(hidden))
		}
	}
	return &dynamodb.TransactWriteItemsOutput{}, nil
}
