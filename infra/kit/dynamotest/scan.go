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
	if err := legacy(in.ScanFilter != nil, in.ConditionalOperator != ""); err != nil {
		return request{}, err
	}
	if err := unprojected(in.AttributesToGet != nil, in.ProjectionExpression); err != nil {
		return request{}, err
	}
	if in.IndexName != nil || in.Select != "" || in.Segment != nil || in.TotalSegments != nil {
		return request{}, validation("dynamotest does not know indexes, Select and parallel scans")
	}
	p, err := db.newPager(pageInput{
		table: in.TableName, filter: in.FilterExpression,
		names: in.ExpressionAttributeNames, values: in.ExpressionAttributeValues,
		limit: in.Limit, start: in.ExclusiveStartKey, consistent: in.ConsistentRead,
	})
	if err != nil {
		return request{}, err
	}
	asked := in.ReturnConsumedCapacity
	return request{evaluate: func(m moment) (any, error) {
		pg := p.read(db, m, p.scanned())
		return &dynamodb.ScanOutput{
			Items: pg.items, Count: pg.count, ScannedCount: pg.scanned, LastEvaluatedKey: pg.last.copied(),
			ConsumedCapacity: db.bill(asked, 0, readUnits(pg.size, p.consistent)),
		}, nil
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
