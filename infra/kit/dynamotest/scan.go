package dynamotest

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Scan is DynamoDB's Scan, in one segment. Partitions come in the order of a
// hash of their keys.
func (db *DB) Scan(ctx context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	r, err := db.scanRequest(in)
	return run[dynamodb.ScanOutput](ctx, db, "Scan", in, r, err)
}

func (db *DB) scanRequest(in *dynamodb.ScanInput) (request, error) {
	p, err := db.newPager(&dynamodb.QueryInput{
		TableName: in.TableName, FilterExpression: in.FilterExpression,
		ExpressionAttributeNames: in.ExpressionAttributeNames, ExpressionAttributeValues: in.ExpressionAttributeValues,
		Limit: in.Limit, ExclusiveStartKey: in.ExclusiveStartKey, ConsistentRead: in.ConsistentRead,
	})
	if err != nil {
		return request{}, err
	}
	asked := in.ReturnConsumedCapacity
	return request{evaluate: func(m moment) (any, error) {
		pg := p.read(db, m, p.scanned())
		return &dynamodb.ScanOutput{Items: pg.items, LastEvaluatedKey: pg.last, ConsumedCapacity: db.consumed(asked, pg.units)}, nil
	}}, nil
}

// scanned are the keys a scan reads, in its order.
func (p *pager) scanned() []key {
	var out []key
	for _, pk := range slices.SortedFunc(maps.Keys(p.table.partitions), scanOrder) {
		if p.start != nil && scanOrder(pk, p.start.pk) < 0 {
			continue
		}
		for _, sk := range p.table.partitions[pk].order {
			if p.start == nil || pk != p.start.pk || sk > p.start.sk {
				out = append(out, key{pk, sk})
			}
		}
	}
	return out
}
