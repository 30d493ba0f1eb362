package dynamotest

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// maxBatch is the most keys of one BatchGetItem.
const maxBatch = 100

// batchTable is what a batch reads from one table. It keeps the caller's own
// parameters, copied, for UnprocessedKeys.
type batchTable struct {
	table      *table
	keys       []key
	projection []path
	consistent bool
	parameters types.KeysAndAttributes
}

// BatchGetItem is DynamoDB's BatchGetItem. The order of its answers is by a hash
// of the keys, because DynamoDB promises none. It has no limit of 16 MB.
func (db *DB) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	r, err := db.batchRequest(in)
	return run[dynamodb.BatchGetItemOutput](ctx, db, "BatchGetItem", in, r, err)
}

func (db *DB) batchRequest(in *dynamodb.BatchGetItemInput) (request, error) {
	var tables []batchTable
	var keys []string
	for _, name := range slices.Sorted(maps.Keys(in.RequestItems)) {
		one, err := db.newBatchTable(name, in.RequestItems[name])
		if err != nil {
			return request{}, err
		}
		tables = append(tables, one)
		for _, k := range one.keys {
			keys = append(keys, k.String())
		}
	}
	if len(keys) == 0 {
		return request{}, validation("The batch get request list must not be empty")
	}
	if len(keys) > maxBatch {
		return request{}, validation("Too many items requested for the BatchGetItem call")
	}
	asked := in.ReturnConsumedCapacity
	return request{keys: keys, evaluate: func(m moment) (any, error) { return db.readBatch(tables, asked, m) }}, nil
}

func (db *DB) newBatchTable(name string, in types.KeysAndAttributes) (batchTable, error) {
	if err := legacy(in.AttributesToGet != nil); err != nil {
		return batchTable{}, err
	}
	t, err := db.tableNamed(&name)
	if err != nil {
		return batchTable{}, err
	}
	b := bind(in.ExpressionAttributeNames, nil)
	out := batchTable{table: t, projection: b.projection(in.ProjectionExpression), consistent: aws.ToBool(in.ConsistentRead)}
	if _, err := b.done(); err != nil {
		return batchTable{}, err
	}
	seen := map[key]bool{}
	for _, attributes := range in.Keys {
		k, err := t.keyOf(attributes)
		if err != nil {
			return batchTable{}, err
		}
		if seen[k] {
			return batchTable{}, validation("Provided list of item keys contains duplicates")
		}
		seen[k] = true
		out.keys = append(out.keys, k)
	}
	out.parameters = types.KeysAndAttributes{
		ConsistentRead: aws.Bool(out.consistent), ProjectionExpression: in.ProjectionExpression,
		ExpressionAttributeNames: maps.Clone(in.ExpressionAttributeNames),
	}
	return out, nil
}

func (db *DB) readBatch(tables []batchTable, asked types.ReturnConsumedCapacity, m moment) (any, error) {
	out := &dynamodb.BatchGetItemOutput{
		Responses:       map[string][]map[string]types.AttributeValue{},
		UnprocessedKeys: map[string]types.KeysAndAttributes{},
	}
	index, processed := 0, 0
	for _, one := range tables {
		var cost float64
		var left []map[string]types.AttributeValue
		var read []key
		for _, k := range one.keys {
			if m.fault.Kind == Unprocessed && m.fault.hits(index) {
				left = append(left, one.table.keyItem(k).copied())
			} else {
				read = append(read, k)
			}
			index++
		}
		slices.SortFunc(read, func(a, b key) int { return scanOrder(a.String(), b.String()) })
		answers := []map[string]types.AttributeValue{}
		for _, k := range read {
			it := one.table.get(k, db.view(m, one.consistent))
			cost += readUnits(it.size(), one.consistent)
			if it == nil {
				continue
			}
			if one.projection != nil {
				it = it.picked(one.projection)
			}
			answers = append(answers, it.copied())
		}
		processed += len(read)
		out.Responses[one.table.Name] = answers
		if len(left) > 0 {
			rest := one.parameters
			rest.Keys = left
			out.UnprocessedKeys[one.table.Name] = rest
		}
		if used := db.bill(one.table.Name, asked, 0, cost); used != nil {
			out.ConsumedCapacity = append(out.ConsumedCapacity, *used)
		}
	}
	if processed == 0 {
		return nil, throughputExceeded()
	}
	return out, nil
}
