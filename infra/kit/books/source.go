package books

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"golang.org/x/sync/errgroup"
)

// DynamoDB is the part of the client that a recount uses. The client must have time
// limits and retry throttled calls.
type DynamoDB interface {
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
}

// source is where the items come from. A page is only valid during the call of page.
type source interface {
	// partition reads the items under pk in the order of their sk; atMost 0 means all.
	partition(ctx context.Context, pk string, atMost int32, page func([]item) error) error
	// get reads items by their keys, which may be the same several times.
	get(ctx context.Context, keys []key) (map[key]item, error)
	// scan reads the whole table, or returns why it stops.
	scan(ctx context.Context, page func([]item) error) (whyNot string, err error)
	cost() (readUnits float64)
}

// reads is the highest minReader of an item that this recount understands.
const reads = 8

// ErrNewerVersion: the sale is stored for a newer version, whose recount must be used.
var ErrNewerVersion = errors.New("stored for a newer version")

// readable fails with ErrNewerVersion for an item that this recount does not understand.
// A minReader that is no number is left to the item's reader.
func readable(it item) error {
	v, ok := it["minReader"].(*types.AttributeValueMemberN)
	if !ok {
		return nil
	}
	if n, err := strconv.ParseInt(v.Value, 10, 64); err == nil && n > reads {
		return fmt.Errorf("%w: %s, %s needs version %d, and this recount reads version %d", ErrNewerVersion, keyOf(it).pk, keyOf(it).sk, n, reads)
	}
	return nil
}

// each reads the items under pk, one by one. It fails with ErrNewerVersion for an item that this recount does not understand.
func each(ctx context.Context, src source, pk string, do func(item) error) error {
	return src.partition(ctx, pk, 0, func(items []item) error {
		for _, it := range items {
			if err := cmp.Or(readable(it), do(it)); err != nil {
				return err
			}
		}
		return nil
	})
}

// one reads an item; nil is a missing one.
func one(ctx context.Context, src source, k key) (item, error) {
	found, err := src.get(ctx, []key{k})
	return found[k], err
}

// lookUp reads the item that belongs to each of all, and has do compare the two; nil is a missing item.
// The zero key belongs to none.
func lookUp[T any](ctx context.Context, src source, all []T, keyOf func(T) key, do func(T, item)) error {
	keys := make([]key, len(all))
	for i, one := range all {
		keys[i] = keyOf(one)
	}
	found, err := src.get(ctx, slices.DeleteFunc(slices.Clone(keys), func(k key) bool { return k == key{} }))
	if err != nil {
		return err
	}
	for i, one := range all {
		do(one, found[keys[i]])
	}
	return nil
}

const (
	// A page of a scan has at most 1 MB, so this bounds the size of tables that are
	// scanned by default: 16,384 read units.
	maxPages  = 64
	batchKeys = 100 // DynamoDB's limit for BatchGetItem
	readers   = 8   // batches read at once
	// Throttled keys of a batch are retried after pauses from 50 ms to 1 s: about 15 s
	// in total.
	maxTries = 20
)

// table is the table in DynamoDB.
type table struct {
	db    DynamoDB
	name  string
	full  bool
	sleep func(context.Context, time.Duration) error

	mu    sync.Mutex
	units float64
}

func (t *table) add(c *types.ConsumedCapacity) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c != nil {
		t.units += aws.ToFloat64(c.CapacityUnits)
	}
}

func (t *table) cost() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.units
}

func (t *table) partition(ctx context.Context, pk string, atMost int32, page func([]item) error) error {
	in := &dynamodb.QueryInput{
		TableName: &t.name, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: item{":pk": &types.AttributeValueMemberS{Value: pk}},
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
	}
	if atMost > 0 {
		in.Limit = &atMost
	}
	for pages := dynamodb.NewQueryPaginator(t.db, in); pages.HasMorePages(); {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("query %s: %w", pk, err)
		}
		t.add(out.ConsumedCapacity)
		if err := inParts(out.Items, page); err != nil || atMost > 0 {
			return err
		}
	}
	return nil
}

func (t *table) get(ctx context.Context, keys []key) (map[key]item, error) {
	keys = slices.Compact(slices.SortedFunc(slices.Values(keys), func(a, b key) int {
		return cmp.Or(strings.Compare(a.pk, b.pk), strings.Compare(a.sk, b.sk))
	}))
	found := make(map[key]item, len(keys))
	var mu sync.Mutex
	var all errgroup.Group
	all.SetLimit(readers)
	for chunk := range slices.Chunk(keys, batchKeys) {
		all.Go(func() error {
			items, err := t.batch(ctx, chunk)
			mu.Lock()
			defer mu.Unlock()
			for _, it := range items {
				found[keyOf(it)] = it
			}
			return err
		})
	}
	return found, all.Wait()
}

// batch reads at most batchKeys items. DynamoDB refuses a batch with the same key twice.
func (t *table) batch(ctx context.Context, keys []key) ([]item, error) {
	asked := make([]item, len(keys))
	for i, k := range keys {
		asked[i] = item{"pk": &types.AttributeValueMemberS{Value: k.pk}, "sk": &types.AttributeValueMemberS{Value: k.sk}}
	}
	request := map[string]types.KeysAndAttributes{t.name: {Keys: asked, ConsistentRead: aws.Bool(true)}}
	var found []item
	for try := range maxTries {
		if try > 0 {
			if err := t.sleep(ctx, min(50*time.Millisecond<<min(try-1, 10), time.Second)); err != nil {
				return nil, err
			}
		}
		out, err := t.db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: request, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		if err != nil {
			return nil, fmt.Errorf("read %d items: %w", len(keys), err)
		}
		for _, c := range out.ConsumedCapacity {
			t.add(&c)
		}
		found = append(found, out.Responses[t.name]...)
		if request = out.UnprocessedKeys; len(request) == 0 {
			return found, nil
		}
	}
	return nil, fmt.Errorf("read %d items: throttled %d times", len(keys), maxTries)
}

var tooLarge = fmt.Sprintf("the table is larger than %d MB (--full scans it)", maxPages)

func (t *table) scan(ctx context.Context, page func([]item) error) (whyNot string, err error) {
	in := &dynamodb.ScanInput{
		TableName: &t.name, ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	pages := dynamodb.NewScanPaginator(t.db, in)
	for n := 0; pages.HasMorePages(); n++ {
		if n == maxPages && !t.full {
			return tooLarge, nil
		}
		out, err := pages.NextPage(ctx)
		if denied(err) {
			return "dynamodb:Scan is not permitted", nil
		}
		if err != nil {
			return "", fmt.Errorf("scan table %s: %w", t.name, err)
		}
		t.add(out.ConsumedCapacity)
		if err := inParts(out.Items, page); err != nil {
			return "", err
		}
	}
	return "", nil
}

// inParts passes the items of a page on in parts, because what belongs to them is in memory, too, and drops each
// part when it is done.
func inParts(items []item, page func([]item) error) error {
	for part := range slices.Chunk(items, 1000) {
		if err := page(part); err != nil {
			return err
		}
		clear(part)
	}
	return nil
}

func denied(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "AccessDeniedException"
}

// Books are all items of a table, read at one time.
type Books struct {
	partitions map[string][]item // in the order of sk
}

// Of returns the books of a table's items.
func Of(items []map[string]types.AttributeValue) *Books {
	b := &Books{partitions: map[string][]item{}}
	for _, it := range items {
		pk := keyOf(it).pk
		b.partitions[pk] = append(b.partitions[pk], it)
	}
	for _, p := range b.partitions {
		slices.SortFunc(p, func(a, b item) int { return strings.Compare(keyOf(a).sk, keyOf(b).sk) })
	}
	return b
}

// Read scans a whole table into memory. It is for tables of tests and
// demonstrations.
func Read(ctx context.Context, db DynamoDB, name string) (*Books, error) {
	var all []item
	whyNot, err := (&table{db: db, name: name, full: true}).scan(ctx, func(items []item) error {
		all = append(all, items...)
		return nil
	})
	if whyNot != "" {
		err = errors.New(whyNot)
	}
	return Of(all), err
}

func (b *Books) partition(_ context.Context, pk string, _ int32, page func([]item) error) error {
	return page(b.partitions[pk])
}

func (b *Books) get(_ context.Context, keys []key) (map[key]item, error) {
	found := make(map[key]item, len(keys))
	for _, k := range keys {
		p := b.partitions[k.pk]
		if i, ok := slices.BinarySearchFunc(p, k.sk, func(it item, sk string) int { return strings.Compare(keyOf(it).sk, sk) }); ok {
			found[k] = p[i]
		}
	}
	return found, nil
}

func (b *Books) scan(_ context.Context, page func([]item) error) (string, error) {
	for _, p := range b.partitions {
		if err := page(p); err != nil {
			return "", err
		}
	}
	return "", nil
}

func (b *Books) cost() float64 { return 0 }
