package dynamotest

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// defaultPage is how much one page of Query or Scan reads, in bytes.
const defaultPage = 1 << 20

// Query is DynamoDB's Query.
func (db *DB) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	r, err := db.queryRequest(in)
	return run[dynamodb.QueryOutput](ctx, db, "Query", in, r, err)
}

// pageInput is what Query and Scan have in common.
type pageInput struct {
	table        *string
	index        *string
	filter       *string
	projection   *string
	keyCondition *string
	names        map[string]string
	values       map[string]types.AttributeValue
	limit        *int32
	choice       types.Select
	start        map[string]types.AttributeValue
	consistent   *bool
}

// pager reads one page: it is fed items in their order until it is full.
type pager struct {
	table      *table
	scope      scope
	keys       condition
	filter     condition
	projection []path
	limit      int
	countOnly  bool
	start      *key
	consistent bool
}

func (db *DB) newPager(in pageInput) (*pager, error) {
	t, err := db.tableNamed(in.table)
	if err != nil {
		return nil, err
	}
	if in.index != nil {
		return nil, validation("The table does not have the specified index: %s", *in.index)
	}
	p := &pager{table: t, consistent: aws.ToBool(in.consistent)}
	if in.limit != nil {
		if p.limit = int(*in.limit); p.limit < 1 {
			return nil, validation("Value '%d' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1", p.limit)
		}
	}
	b := bind(in.names, in.values)
	p.keys = b.condition("KeyConditionExpression", in.keyCondition)
	p.filter = b.condition("FilterExpression", in.filter)
	p.projection = b.projection(in.projection)
	if p.scope, err = b.done(); err != nil {
		return nil, err
	}
	switch in.choice {
	case "", types.SelectAllAttributes:
	case types.SelectCount:
		p.countOnly = true
	case types.SelectSpecificAttributes:
		if p.projection == nil {
			return nil, validation("Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
		}
	default:
		return nil, validation("Select type %s is not supported for tables", in.choice)
	}
	if p.projection != nil && (in.choice == types.SelectAllAttributes || p.countOnly) {
		return nil, validation("Cannot specify the ProjectionExpression when choosing to get %s", in.choice)
	}
	if in.start == nil {
		return p, nil
	}
	start, err := t.keyOf(in.start)
	if err != nil {
		return nil, validation("The provided starting key is invalid: %v", err)
	}
	p.start = &start
	return p, nil
}

func (db *DB) queryRequest(in *dynamodb.QueryInput) (request, error) {
	if err := legacy(in.KeyConditions != nil, in.QueryFilter != nil, in.AttributesToGet != nil, in.ConditionalOperator != ""); err != nil {
		return request{}, err
	}
	if in.KeyConditionExpression == nil {
		return request{}, validation("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	p, err := db.newPager(pageInput{
		table: in.TableName, index: in.IndexName, filter: in.FilterExpression, projection: in.ProjectionExpression,
		keyCondition: in.KeyConditionExpression, names: in.ExpressionAttributeNames, values: in.ExpressionAttributeValues,
		limit: in.Limit, choice: in.Select, start: in.ExclusiveStartKey, consistent: in.ConsistentRead,
	})
	if err != nil {
		return request{}, err
	}
	keys, err := p.scope.keyRange(p.table, p.keys)
	if err != nil {
		return request{}, invalid("KeyConditionExpression", err)
	}
	for _, name := range p.scope.topNames(p.filter) {
		if p.table.isKey(name) {
			return request{}, validation("Filter Expression can only contain non-primary key attributes: Primary key attribute: %s", name)
		}
	}
	if p.start != nil && (p.start.pk != keys.pk || !p.scope.holds(keys.sk, p.table.keyItem(*p.start))) {
		return request{}, validation("The provided starting key is outside query boundaries based on provided conditions")
	}
	backward, asked := in.ScanIndexForward != nil && !*in.ScanIndexForward, in.ReturnConsumedCapacity
	return request{keys: []string{keys.pk}, evaluate: func(m moment) (any, error) {
		pg := p.read(db, m, p.queried(keys, backward))
		return &dynamodb.QueryOutput{
			Items: pg.items, Count: pg.count, ScannedCount: pg.scanned, LastEvaluatedKey: pg.last.copied(),
			ConsumedCapacity: db.bill(p.table.Name, asked, 0, readUnits(pg.size, p.consistent)),
		}, nil
	}}, nil
}

// queried are the sort keys a query reads, in its order.
func (p *pager) queried(keys keyRange, backward bool) []key {
	part := p.table.partitions[keys.pk]
	if part == nil {
		return nil
	}
	order := part.order
	if p.start != nil {
		at, exact := slices.BinarySearch(order, p.start.sk)
		switch {
		case backward:
			order = order[:at]
		case exact:
			order = order[at+1:]
		default:
			order = order[at:]
		}
	}
	out := make([]key, 0, len(order))
	for _, sk := range order {
		k := key{keys.pk, sk}
		if keys.sk == nil || p.scope.holds(keys.sk, p.table.keyItem(k)) {
			out = append(out, k)
		}
	}
	if backward {
		slices.Reverse(out)
	}
	return out
}

// page is what one page came to.
type page struct {
	items          []map[string]types.AttributeValue
	count, scanned int32
	size           int
	last           item // the key to go on from, nil at the end
}

// read reads items until the page is full. A page ended by its limit has a key
// to go on from even if nothing follows, as in DynamoDB.
func (p *pager) read(db *DB, m moment, keys []key) page {
	var out page
	if !p.countOnly {
		out.items = []map[string]types.AttributeValue{}
	}
	capacity := db.PageBytes
	if capacity <= 0 {
		capacity = defaultPage
	}
	see := db.view(m, p.consistent)
	for _, k := range keys {
		it := p.table.get(k, see)
		if it == nil {
			continue
		}
		size := it.size()
		if out.scanned > 0 && out.size+size > capacity {
			return out
		}
		out.scanned++
		out.size += size
		if p.scope.holds(p.filter, it) {
			out.count++
			if !p.countOnly {
				out.items = append(out.items, p.shown(it))
			}
		}
		out.last = p.table.keyItem(k)
		if p.limit > 0 && int(out.scanned) == p.limit {
			return out
		}
	}
	out.last = nil
	return out
}

func (p *pager) shown(it item) map[string]types.AttributeValue {
	if p.projection == nil {
		return it.copied()
	}
	return it.picked(p.projection).copied()
}
