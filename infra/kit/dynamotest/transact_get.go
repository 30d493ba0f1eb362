package dynamotest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// transactionRead is one item of a TransactGetItems.
type transactionRead struct {
	table *table
	key   key
}

// TransactGetItems is DynamoDB's TransactGetItems.
func (db *DB) TransactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error) {
	r, err := db.transactGetRequest(in)
	return run[dynamodb.TransactGetItemsOutput](ctx, db, "TransactGetItems", in, r, err)
}

func (db *DB) transactGetRequest(in *dynamodb.TransactGetItemsInput) (request, error) {
	if n := len(in.TransactItems); n == 0 || n > maxActions {
		return request{}, validation("Value at 'transactItems' failed to satisfy constraint: Member must have length between 1 and %d", maxActions)
	}
	var reads []transactionRead
	var keys []string
	seen := map[place]bool{}
	for _, one := range in.TransactItems {
		read, err := db.newTransactionRead(one.Get)
		if err != nil {
			return request{}, err
		}
		at := place{read.table.Name, read.key}
		if seen[at] {
			return request{}, validation("Transaction request cannot include multiple operations on one item")
		}
		seen[at] = true
		reads, keys = append(reads, read), append(keys, read.key.String())
	}
	asked := in.ReturnConsumedCapacity
	return request{keys: keys, evaluate: func(m moment) (any, error) { return db.readTransaction(reads, asked, m) }}, nil
}

func (db *DB) newTransactionRead(in *types.Get) (transactionRead, error) {
	if in == nil {
		return transactionRead{}, validation("TransactItems must contain a Get")
	}
	t, err := db.tableNamed(in.TableName)
	if err != nil {
		return transactionRead{}, err
	}
	k, err := t.keyOf(in.Key)
	if err != nil {
		return transactionRead{}, err
	}
	return transactionRead{t, k}, unprojected(false, in.ProjectionExpression)
}

func (db *DB) readTransaction(reads []transactionRead, asked types.ReturnConsumedCapacity, m moment) (any, error) {
	cost := map[string]float64{}
	conflicts := map[int]bool{}
	out := &dynamodb.TransactGetItemsOutput{}
	for i, r := range reads {
		conflicts[i] = db.busy(place{r.table.Name, r.key}, m.now)
		it := r.table.current(r.key)
		cost[r.table.Name] += transactional * readUnits(it.size(), true)
		out.Responses = append(out.Responses, types.ItemResponse{Item: it.copied()})
	}
	out.ConsumedCapacity = db.billTables(nil, cost, asked)
	for _, busy := range conflicts {
		if busy {
			return nil, canceledBy(len(reads), func(i int) bool { return conflicts[i] }, reasonConflict)
		}
	}
	return out, nil
}
