package dynamotest

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

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

// pager reads one page: it is fed items in their order until it is full.
type pager struct {
	table      *table
	scope      scope
	keys       *condition
	filter     *condition
	limit      int
	start      *key
	consistent bool
}

// newPager makes the pager of a query, or of a scan, which is a query without a key condition.
func (db *DB) newPager(in *dynamodb.QueryInput) (*pager, error) {
	t, err := db.tableNamed(in.TableName)
	if err != nil {
		return nil, err
	}
	p := &pager{table: t, consistent: aws.ToBool(in.ConsistentRead)}
	if in.Limit != nil {
		if p.limit = int(*in.Limit); p.limit < 1 {
			return nil, validation("Value '%d' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1", p.limit)
		}
	}
	keys, err := parse(keyConditionExpression, in.KeyConditionExpression)
	if err != nil {
		return nil, err
	}
	filter, err := parse(filterExpression, in.FilterExpression)
	if err != nil {
		return nil, err
	}
	p.keys, p.filter = keys.condition, filter.condition
	if p.scope, err = bind(in.ExpressionAttributeNames, in.ExpressionAttributeValues, keys, filter); err != nil {
		return nil, err
	}
	if in.ExclusiveStartKey == nil {
		return p, nil
	}
	start, err := t.keyOf(in.ExclusiveStartKey)
	if err != nil {
		return nil, validation("The provided starting key is invalid: %v", err)
	}
	p.start = &start
	return p, nil
}

func (db *DB) queryRequest(in *dynamodb.QueryInput) (request, error) {
	if in.KeyConditionExpression == nil {
		return request{}, validation("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	p, err := db.newPager(in)
	if err != nil {
		return request{}, err
	}
	keys, err := p.scope.keyRange(p.table, p.keys)
	if err != nil {
		return request{}, err
	}
	if p.start != nil && (p.start.pk != keys.pk || !strings.HasPrefix(p.start.sk, keys.head)) {
		return request{}, validation("The provided starting key is outside query boundaries based on provided conditions")
	}
	asked := in.ReturnConsumedCapacity
	return request{keys: []string{keys.pk}, evaluate: func(m moment) (any, error) {
		pg := p.read(db, m, p.queried(keys))
		return &dynamodb.QueryOutput{Items: pg.items, LastEvaluatedKey: pg.last, ConsumedCapacity: db.consumed(asked, pg.units)}, nil
	}}, nil
}

// queried are the keys a query reads, in its order.
func (p *pager) queried(keys keyRange) iter.Seq[key] {
	return func(yield func(key) bool) {
		part := p.table.partitions[keys.pk]
		if part == nil {
			return
		}
		at, _ := slices.BinarySearch(part.order, keys.head)
		if p.start != nil {
			var exact bool
			if at, exact = slices.BinarySearch(part.order, p.start.sk); exact {
				at++
			}
		}
		for _, sk := range part.order[at:] {
			if !strings.HasPrefix(sk, keys.head) || !yield(key{keys.pk, sk}) {
				return
			}
		}
	}
}

// keyRange is what a KeyConditionExpression asks for: one partition, or those of its items
// whose sort key begins with a text.
type keyRange struct{ pk, head string }

// keyRange reads a key condition: pk = :v, alone or AND begins_with(sk, :v).
func (s *scope) keyRange(t *table, c *condition) (out keyRange, err error) {
	for _, part := range c.terms() {
		name := s.name(part.left.name)
		text, isString := stringOf(s.values[part.right.value])
		switch {
		case !isString:
			return out, validation("One or more parameter values were invalid: Condition parameter type does not match schema type")
		case text == "":
			return out, validation("One or more parameter values are not valid. A value specified for a key attribute is empty. Key: %s", name)
		case name == t.PK && part.op == "=" && out.pk == "":
			out.pk = text
		case name == t.SK && t.SK != "" && part.op == "begins_with" && out.head == "":
			out.head = text
		default:
			return out, validation("dynamotest does not know %s of %s in a key condition", part.op, name)
		}
	}
	if out.pk == "" {
		return out, validation("Query condition missed key schema element: %s", t.PK)
	}
	return out, nil
}

// page is what one page came to.
type page struct {
	items []map[string]types.AttributeValue
	last  item // the key to go on from, nil at the end
	units float64
}

// read reads and bills items until the page is full. A page that is ended by its limit has a
// key to go on from even if nothing follows, as in DynamoDB.
func (p *pager) read(db *DB, m moment, keys iter.Seq[key]) page {
	out := page{items: []map[string]types.AttributeValue{}}
	capacity, see := cmp.Or(db.PageBytes, defaultPage), db.view(m, p.consistent)
	var last key
	size, scanned, full := 0, 0, false
	for k := range keys {
		it := p.table.get(k, see)
		if it.item == nil {
			continue
		}
		if full = scanned > 0 && size+it.size > capacity; full {
			break
		}
		last, size, scanned = k, size+it.size, scanned+1
		if p.scope.holds(p.filter, it.item) {
			out.items = append(out.items, it.item.copied())
		}
		if full = scanned == p.limit; full {
			break
		}
	}
	if full {
		out.last = p.table.keyItem(last)
	}
	out.units = readUnits(size, p.consistent)
	db.bill(0, out.units)
	return out
}

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
func (p *pager) scanned() iter.Seq[key] {
	return func(yield func(key) bool) {
		for _, pk := range slices.SortedFunc(maps.Keys(p.table.partitions), scanOrder) {
			if p.start != nil && scanOrder(pk, p.start.pk) < 0 {
				continue
			}
			for _, sk := range p.table.partitions[pk].order {
				if (p.start == nil || pk != p.start.pk || sk > p.start.sk) && !yield(key{pk, sk}) {
					return
				}
			}
		}
	}
}
