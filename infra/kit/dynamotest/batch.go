package dynamotest

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// maxBatch is the most keys of one BatchGetItem.
const maxBatch = 100

// BatchGetItem is DynamoDB's BatchGetItem. The order of its answers is by a hash
// of the keys, because DynamoDB promises none. It has no limit of 16 MB.
func (db *DB) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	r, err := db.batchRequest(in)
	return run[dynamodb.BatchGetItemOutput](ctx, db, "BatchGetItem", in, r, err)
}

func (db *DB) batchRequest(in *dynamodb.BatchGetItemInput) (request, error) {
	var asked types.KeysAndAttributes
	for name, one := range in.RequestItems { // there is one table
		if _, err := db.tableNamed(&name); err != nil {
			return request{}, err
		}
		asked = one
	}
	if err := checkParameters(asked); err != nil {
		return request{}, err
	}
	switch n := len(asked.Keys); {
	case n == 0:
		return request{}, validation("The batch get request list must not be empty")
	case n > maxBatch:
		return request{}, validation("Too many items requested for the BatchGetItem call")
	}
	r, keys := request{}, make([]key, len(asked.Keys))
	for i, attributes := range asked.Keys {
		k, err := db.table.keyOf(attributes)
		if err != nil {
			return request{}, err
		}
		if slices.Contains(keys[:i], k) {
			return request{}, validation("Provided list of item keys contains duplicates")
		}
		keys[i], r.keys = k, append(r.keys, k.String())
	}
	consistent, capacity := aws.ToBool(asked.ConsistentRead), in.ReturnConsumedCapacity
	r.evaluate = func(m moment) (any, error) { return db.readBatch(keys, consistent, capacity, m) }
	return r, nil
}

func (db *DB) readBatch(keys []key, consistent bool, asked types.ReturnConsumedCapacity, m moment) (any, error) {
	var left []map[string]types.AttributeValue
	var read []key
	torn := map[key]bool{}
	for i, k := range keys {
		if m.fault.Kind == Unprocessed && m.fault.hits(i) {
			left = append(left, db.table.keyItem(k).copied())
		} else {
			read, torn[k] = append(read, k), slices.Contains(m.fault.Torn, i)
		}
	}
	slices.SortFunc(read, func(a, b key) int { return scanOrder(a.String(), b.String()) })
	answers, cost := []map[string]types.AttributeValue{}, 0.0
	for _, k := range read {
		v := db.view(m, consistent)
		if torn[k] {
			v.torn = m.fault.TornBy
		}
		it := db.table.get(k, v)
		cost += readUnits(it.size, consistent)
		if it.item != nil {
			answers = append(answers, it.item.copied())
		}
	}
	db.bill(0, cost)
	if len(read) == 0 {
		return nil, throughputExceeded()
	}
	out := &dynamodb.BatchGetItemOutput{
		Responses:       map[string][]map[string]types.AttributeValue{db.table.Name: answers},
		UnprocessedKeys: map[string]types.KeysAndAttributes{},
	}
	if len(left) > 0 {
		out.UnprocessedKeys[db.table.Name] = types.KeysAndAttributes{Keys: left, ConsistentRead: aws.Bool(consistent)}
	}
	if used := db.consumed(asked, cost); used != nil {
		out.ConsumedCapacity = append(out.ConsumedCapacity, *used)
	}
	return out, nil
}
