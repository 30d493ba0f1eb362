package model

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
)

const tableName = "Ledger"

// writeTime is the median of UpdateItem and PutItem, readTime that of GetItem and BatchGetItem, and
// spread the p99 over the median of every call but SendMessage.
const (
	writeTime, readTime = 6 * time.Millisecond, 4 * time.Millisecond
	spread              = 3
)

// table is DynamoDB, shared by all environments.
type table struct {
	config Config
	db     *dynamotest.DB
	limits *limits
	tally  *tally
	// sold counts the units taken so far.
	sold atomic.Int64
}

func newTable(c Config, t *tally) *table {
	tb := &table{
		config: c, tally: t, limits: newLimits(c, time.Now()),
		db: dynamotest.New(dynamotest.Table{Name: tableName, PK: "pk", SK: "sk"}),
	}
	tb.db.Busy = c.Window
	return tb
}

// applyLimits makes every further call respect the limits.
func (t *table) applyLimits() {
	t.db.ResetUsage()
	t.db.Fault = func(c dynamotest.Call) dynamotest.Fault {
		pks := make([]string, len(c.Keys))
		for i, key := range c.Keys {
			pks[i], _, _ = strings.Cut(key, "|")
		}
		d := demand{units: 1, write: true}
		kind := dynamotest.Throttle
		switch c.Op {
		case "TransactWriteItems":
			d.units = 2
		case "GetItem", "Query":
			d.write = false
			if in, ok := c.Input.(*dynamodb.GetItemInput); ok && !aws.ToBool(in.ConsistentRead) {
				d.units = 0.5
			}
		case "BatchGetItem":
			d.write, d.partial, kind = false, true, dynamotest.Unprocessed
		case "BatchExecuteStatement":
			d.partial = true
		}
		exhausted := t.limits.take(pks, d, time.Now())
		if len(exhausted) == 0 {
			return dynamotest.Fault{}
		}
		t.tally.count(func(n *Counts) {
			n.Throttled++
			if c.Op == "GetItem" {
				n.refusedReads[pks[0]]++
				n.HotReads = max(n.HotReads, n.refusedReads[pks[0]])
			}
		})
		return dynamotest.Fault{Kind: kind, Items: exhausted}
	}
}

// client is one environment's access to the table; it is a ledger.API.
type client struct {
	*table
	random *randomSource
	// cpu is the environment's CPU time per call.
	cpu time.Duration
	// transactions counts those of the current invocation, which serves that user for
	// weight users. looked: it has read an item of the user's own.
	transactions atomic.Int32
	user         string
	weight       float64
	looked       atomic.Bool
}

// beginInvocation begins an invocation.
func (c *client) beginInvocation(user string, weight float64) {
	c.user, c.weight = user, weight
	c.transactions.Store(0)
	c.looked.Store(false)
}

// call runs one call: request, evaluation, answer. A transaction locks its items for
// the window in the second half of its time.
func (c *client) call(ctx context.Context, median time.Duration, hold time.Duration, evaluate func()) error {
	took := c.random.lognormal(median, spread)
	back := max(took/2, hold)
	if err := pause(ctx, c.cpu+max(took-back, took/4)); err != nil {
		return err
	}
	evaluate()
	return pause(ctx, back)
}

// pause waits like a network: a caller whose context ends gets no answer.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// callTable wraps an evaluation by the database as a call of the SDK.
func callTable[I, O any](ctx context.Context, c *client, median time.Duration, in I,
	do func(context.Context, I, ...func(*dynamodb.Options)) (*O, error), o []func(*dynamodb.Options)) (*O, error) {
	var out *O
	var err error
	if lost := c.call(ctx, median, 0, func() { out, err = do(context.WithoutCancel(ctx), in, o...) }); lost != nil {
		return nil, lost
	}
	return out, err
}

// GetItem implements ledger.API. An item of the user's own is read as often as there are
// users; what all share is not.
func (c *client) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	out, err := callTable(ctx, c, readTime, in, c.db.GetItem, o)
	if sk, ok := in.Key["sk"].(*types.AttributeValueMemberS); ok && sk.Value == c.user && err == nil {
		c.looked.Store(true)
		units := 0.5
		if aws.ToBool(in.ConsistentRead) {
			units = 1
		}
		c.charge(in.Key, demand{units: units * (c.weight - 1)})
		c.tally.count(func(n *Counts) { n.representedReads += units * (c.weight - 1) })
	}
	return out, err
}

// charge books what a call took beyond what it was admitted for.
func (c *client) charge(key map[string]types.AttributeValue, d demand) {
	if pk, ok := key["pk"].(*types.AttributeValueMemberS); ok {
		c.limits.charge(pk.Value, d, time.Now())
	}
}

// BatchGetItem implements ledger.API.
func (c *client) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return callTable(ctx, c, readTime, in, c.db.BatchGetItem, o)
}

// Query implements ledger.API.
func (c *client) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return callTable(ctx, c, readTime, in, c.db.Query, o)
}

// PutItem implements ledger.API.
func (c *client) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return callTable(ctx, c, writeTime, in, c.db.PutItem, o)
}

// UpdateItem implements ledger.API. A sale item with hundreds of closed shards costs
// several units; the answer says how many.
func (c *client) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	asked := *in
	asked.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := callTable(ctx, c, writeTime, &asked, c.db.UpdateItem, o)
	if err == nil && out.ConsumedCapacity != nil {
		c.charge(in.Key, demand{units: aws.ToFloat64(out.ConsumedCapacity.CapacityUnits) - 1, write: true})
	}
	return out, err
}

// BatchExecuteStatement implements ledger.API. It waits for the slowest of its
// statements.
func (c *client) BatchExecuteStatement(ctx context.Context, in *dynamodb.BatchExecuteStatementInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error) {
	return callTable(ctx, c, 2*writeTime, in, c.db.BatchExecuteStatement, o)
}

// TransactWriteItems implements ledger.API.
func (c *client) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	var out *dynamodb.TransactWriteItemsOutput
	var err error
	c.transactions.Add(1)
	lost := c.call(ctx, c.config.Transaction, c.config.Window, func() {
		out, err = c.db.TransactWriteItems(context.WithoutCancel(ctx), in, o...)
		if err == nil {
			c.sold.Add(1)
		}
		if conflict, refused := cancellationCause(err); err == nil || conflict || refused {
			c.tally.transaction(err == nil, conflict, refused, int(c.transactions.Load()))
		}
	})
	if lost != nil {
		return nil, lost
	}
	return out, err
}

// cancellationCause returns why a transaction was cancelled, if it was not throttled.
func cancellationCause(err error) (conflict, refused bool) {
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		return false, false
	}
	for _, r := range cancelled.CancellationReasons {
		conflict = conflict || aws.ToString(r.Code) == "TransactionConflict"
		refused = refused || aws.ToString(r.Code) == "ConditionalCheckFailed"
	}
	return conflict, refused && !conflict
}

// bucket is a token bucket. It may go into debt by one call, whose size is known only
// once it has run.
type bucket struct {
	rate, depth, level float64
	at                 time.Time
}

func newBucket(rate float64, burst time.Duration, now time.Time) *bucket {
	depth := max(rate*burst.Seconds(), 1)
	return &bucket{rate: rate, depth: depth, level: depth, at: now}
}

func (b *bucket) open(now time.Time) bool {
	b.level = min(b.depth, b.level+b.rate*now.Sub(b.at).Seconds())
	b.at = now
	return b.level > 0
}

// pass takes one token, if there is one. A nil bucket has no limit.
func (b *bucket) pass(now time.Time) bool {
	if b == nil {
		return true
	}
	if !b.open(now) {
		return false
	}
	b.level--
	return true
}

// limits are those of a table: one pair for all of it and one per partition. It
// is safe for concurrent use.
type limits struct {
	config Config

	mu         sync.Mutex
	writes     *bucket
	reads      *bucket
	partitions map[string]*partition
}

type partition struct{ writes, reads *bucket }

func newLimits(c Config, now time.Time) *limits {
	return &limits{
		config: c, partitions: map[string]*partition{},
		writes: newBucket(c.TableWrites, c.Burst, now), reads: newBucket(c.TableReads, c.Burst, now),
	}
}

func (l *limits) of(pk string, now time.Time) *partition {
	if n := l.config.Partitions; n > 0 {
		h := fnv.New64a()
		_, _ = fmt.Fprint(h, l.config.Seed, pk)
		pk = strconv.FormatUint(h.Sum64()%uint64(n), 10)
	}
	p := l.partitions[pk]
	if p == nil {
		p = &partition{
			newBucket(l.config.PartitionWrites, l.config.Burst, now), newBucket(l.config.PartitionReads, l.config.Burst, now),
		}
		l.partitions[pk] = p
	}
	return p
}

// demand is what a call needs of each of its partitions.
type demand struct {
	units float64
	write bool
	// partial: parts that cannot be served do not stop the rest.
	partial bool
}

// take books a demand on each of the partitions and returns the indexes of
// those that are exhausted, all of them if the table is. If there are any,
// nothing is booked, except for what a partial call still gets.
func (l *limits) take(pks []string, d demand, now time.Time) (exhausted []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	whole := l.reads
	if d.write {
		whole = l.writes
	}
	full := !whole.open(now)
	var open []*bucket
	for i, pk := range pks {
		p := l.of(pk, now)
		b := p.reads
		if d.write {
			b = p.writes
		}
		if !b.open(now) || full {
			exhausted = append(exhausted, i)
		} else {
			open = append(open, b)
		}
	}
	if len(exhausted) > 0 && !d.partial {
		return exhausted
	}
	for _, b := range open {
		b.level -= d.units
		whole.level -= d.units
	}
	return exhausted
}

// charge books units of a call that has already run.
func (l *limits) charge(pk string, d demand, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	whole, part := l.reads, l.of(pk, now).reads
	if d.write {
		whole, part = l.writes, l.of(pk, now).writes
	}
	whole.level -= d.units
	part.level -= d.units
}
