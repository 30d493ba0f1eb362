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

// batchTable is what a batch reads from one table.
type batchTable struct {
	table      *table
	keys       []key
	consistent bool
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
	if err := unprojected(in.AttributesToGet != nil, in.ProjectionExpression); err != nil {
		return batchTable{}, err
	}
	t, err := db.tableNamed(&name)
	if err != nil {
		return batchTable{}, err
	}
	out := batchTable{table: t, consistent: aws.ToBool(in.ConsistentRead)}
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
			if it != nil {
				answers = append(answers, it.copied())
			}
		}
		processed += len(read)
		out.Responses[one.table.Name] = answers
		if len(left) > 0 {
			out.UnprocessedKeys[one.table.Name] = types.KeysAndAttributes{Keys: left, ConsistentRead: aws.Bool(one.consistent)}
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
