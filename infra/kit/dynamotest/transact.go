package dynamotest

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// maxActions is the most actions of one transaction.
const maxActions = 100

// TransactWriteItems is DynamoDB's TransactWriteItems.
func (db *DB) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	writes, err := db.transactionWrites(in)
	r := request{evaluate: func(m moment) (any, error) { return db.commit(writes, m) }}
	for _, w := range writes {
		r.keys = append(r.keys, w.key.String())
	}
	return run[dynamodb.TransactWriteItemsOutput](ctx, db, "TransactWriteItems", in, r, err)
}

// TransactGetItems is DynamoDB's TransactGetItems. It has no limit of 4 MB.
func (db *DB) TransactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error) {
	r, err := db.transactionReads(in)
	return run[dynamodb.TransactGetItemsOutput](ctx, db, "TransactGetItems", in, r, err)
}

func (db *DB) transactionReads(in *dynamodb.TransactGetItemsInput) (request, error) {
	if n := len(in.TransactItems); n == 0 || n > maxActions {
		return request{}, validation("Value at 'transactItems' failed to satisfy constraint: Member must have length between 1 and %d", maxActions)
	}
	var r request
	var keys []key
	for _, a := range in.TransactItems {
		if a.Get == nil {
			return r, validation("Value null at 'transactItems.get' failed to satisfy constraint: Member must not be null")
		}
		if err := checkParameters(a.Get); err != nil {
			return r, err
		}
		t, err := db.tableNamed(a.Get.TableName)
		if err != nil {
			return r, err
		}
		k, err := t.keyOf(a.Get.Key)
		if err != nil {
			return r, err
		}
		if slices.Contains(keys, k) {
			return r, validation("Transaction request cannot include multiple operations on one item")
		}
		keys, r.keys = append(keys, k), append(r.keys, k.String())
	}
	r.evaluate = func(m moment) (any, error) { return db.readTogether(keys, m) }
	return r, nil
}

// readTogether reads the items as they are at one instant, whatever is hidden from plain reads: what
// has one of them in flight makes it fail. It waits for nobody and nobody for it. db.mu is held.
func (db *DB) readTogether(keys []key, m moment) (any, error) {
	reasons, isBusy := make([]types.CancellationReason, len(keys)), false
	out := &dynamodb.TransactGetItemsOutput{}
	for i, k := range keys {
		reasons[i] = reason(reasonNone)
		if db.busy(k, m.now) {
			reasons[i], isBusy = reason(reasonConflict), true
		}
		it := db.table.current(k)
		db.bill(0, transactional*readUnits(it.size, true))
		out.Responses = append(out.Responses, types.ItemResponse{Item: it.item.copied()})
	}
	if isBusy {
		return nil, canceledFor(reasons)
	}
	return out, nil
}

// transactionInput reads one action of a transaction.
func transactionInput(a types.TransactWriteItem) (writeInput, error) {
	switch p, u, d, c := a.Put, a.Update, a.Delete, a.ConditionCheck; {
	case p != nil:
		return writeInput{
			action: actionPut, table: p.TableName, key: p.Item, condition: p.ConditionExpression,
			names: p.ExpressionAttributeNames, values: p.ExpressionAttributeValues, onFailure: p.ReturnValuesOnConditionCheckFailure,
		}, nil
	case u != nil:
		return writeInput{
			action: actionUpdate, table: u.TableName, key: u.Key, update: u.UpdateExpression, condition: u.ConditionExpression,
			names: u.ExpressionAttributeNames, values: u.ExpressionAttributeValues, onFailure: u.ReturnValuesOnConditionCheckFailure,
		}, nil
	case d != nil:
		return writeInput{
			action: actionDelete, table: d.TableName, key: d.Key, condition: d.ConditionExpression,
			names: d.ExpressionAttributeNames, values: d.ExpressionAttributeValues, onFailure: d.ReturnValuesOnConditionCheckFailure,
		}, nil
	case c != nil:
		return writeInput{
			action: actionCheck, table: c.TableName, key: c.Key, condition: c.ConditionExpression,
			names: c.ExpressionAttributeNames, values: c.ExpressionAttributeValues, onFailure: c.ReturnValuesOnConditionCheckFailure,
		}, nil
	}
	return writeInput{}, validation("TransactItems can only contain one of Check, Put, Update or Delete")
}

// transactionWrites reads and checks a transaction.
func (db *DB) transactionWrites(in *dynamodb.TransactWriteItemsInput) ([]*write, error) {
	if n := len(in.TransactItems); n == 0 || n > maxActions {
		return nil, validation("Value at 'transactItems' failed to satisfy constraint: Member must have length between 1 and %d", maxActions)
	}
	var writes []*write
	seen := map[key]bool{}
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
		writes = append(writes, w)
	}
	return writes, nil
}

// commit applies all writes or none. db.mu is held.
func (db *DB) commit(writes []*write, m moment) (any, error) {
	results := make([]version, len(writes))
	reasons := make([]types.CancellationReason, len(writes))
	accepted := 0
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
