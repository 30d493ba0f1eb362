// Package dynamotest is Amazon DynamoDB in one process, for tests: the real
// rules of items, expressions, conditions, transactions and capacity, and every
// way in which the real one may refuse, conflict, lose an answer or apply a
// request late.
//
// It implements DynamoDB as its SDK sees it, and nothing of flash sales. A DB has
// the methods of the SDK's client with their signatures, makes one attempt per
// call, and fails with the SDK's own errors. Of parameters, expressions, statements and numbers it
// knows what this project says; what it does not know it refuses instead of guessing, with
// an error that names it.
//
// It is deterministic: the same calls in the same order with the same faults
// and instants give the same answers. It starts no goroutine, holds no lock
// while it waits, and takes its time from time.Now or from DB.Now, so it works
// in the virtual time of testing/synctest.
package dynamotest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// DB is one table. It is safe for concurrent use; its exported fields must
// be set while no call is running.
type DB struct {
	// Now is the current instant; nil means time.Now. It must be safe for
	// concurrent use.
	Now func() time.Time
	// Fault decides what goes wrong with a call; nil means nothing does. It is
	// asked once per valid call, without a lock held, and must be safe for
	// concurrent use.
	Fault func(Call) Fault
	// Busy is how long the items of a transaction stay in flight after it was
	// accepted. Another transaction or write that meets one of them conflicts
	// at once; reads do not. 0 means not at all.
	Busy time.Duration
	// Lag is how far reads without ConsistentRead are behind: they see the items as
	// they were so long ago. 0 means not at all.
	Lag time.Duration
	// PageBytes is how much a page of Query or Scan may read; 0 means 1 MB, as
	// in DynamoDB.
	PageBytes int
	// Stream gets a record of every write that changes an item, in the order in which the
	// writes are applied; nil means that none is made. A transaction makes one for each of
	// its items. It is called with a lock held and must not call the DB.
	Stream func(Record)
	// StreamUnchanged makes a record also of a write that leaves its item as it was:
	// DynamoDB does so for some of them, other engines for all.
	StreamUnchanged bool

	mu      sync.Mutex
	number  int
	records int64
	usage   usage
	contents
}

// contents is all that requests change; it is what a Snapshot keeps.
type contents struct {
	table    *table
	inFlight map[key]time.Time // until when
	pending  []pendingRequest
}

// pendingRequest is a request that arrived and waits to be applied.
type pendingRequest struct {
	due     time.Time
	request request
}

// never is when a request is due that only ApplyPending applies: later than all others.
const never = 200 * 365 * 24 * time.Hour

// New makes an empty table.
func New(t Table) *DB {
	return &DB{usage: noUsage(), contents: contents{table: &table{Table: t, partitions: map[string]*partition{}}, inFlight: map[key]time.Time{}}}
}

func (db *DB) now() time.Time {
	if db.Now != nil {
		return db.Now()
	}
	return time.Now()
}

// Items are copies of the table's items, by partition key, then sort key. What
// is due of the late requests is applied first. It costs no capacity.
func (db *DB) Items(tableName string) []map[string]types.AttributeValue {
	db.settled()
	defer db.mu.Unlock()
	if tableName != db.table.Name {
		return nil
	}
	var out []map[string]types.AttributeValue
	for _, it := range db.table.items() {
		out = append(out, it.copied())
	}
	return out
}

// Item is one item as it lies in the table, nil for none: not a copy, so it must
// not be changed. It costs no capacity and meets no fault, and nothing is hidden
// from it. What is due of the late requests is applied first.
func (db *DB) Item(tableName, pk, sk string) map[string]types.AttributeValue {
	db.settled()
	defer db.mu.Unlock()
	if tableName != db.table.Name {
		return nil
	}
	return db.table.current(key{pk, sk}).item
}

// Tamper adds n to a number attribute of an item with string keys pk and sk,
// behind the back of whatever is under test: to show that an audit notices.
func (db *DB) Tamper(ctx context.Context, table, pk, sk, attribute string, n int64) error {
	_, err := db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &table,
		Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk},
		},
		UpdateExpression:          aws.String("ADD #a :n"),
		ExpressionAttributeNames:  map[string]string{"#a": attribute},
		ExpressionAttributeValues: map[string]types.AttributeValue{":n": &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}},
	})
	if err != nil {
		return fmt.Errorf("tamper with %s %s: %w", pk, sk, err)
	}
	return nil
}

// Dump is the table as text, one line per item, the same for equal contents:
// to compare states and to print them.
func (db *DB) Dump() string {
	db.settled()
	defer db.mu.Unlock()
	var out strings.Builder
	for _, it := range db.table.items() {
		fmt.Fprintf(&out, "%s %s\n", db.table.Name, JSON(it))
	}
	return out.String()
}

// ApplyPending applies all late requests, in the order of their instants, those
// without one last, and reports how many there were.
func (db *DB) ApplyPending() int {
	now := db.settled()
	defer db.mu.Unlock()
	n := len(db.pending)
	db.settle(now, true)
	return n
}

// Pending is how many late requests have not been applied yet.
func (db *DB) Pending() int {
	db.settled()
	defer db.mu.Unlock()
	return len(db.pending)
}

// settled locks db.mu, once what is due of the late requests has been applied.
func (db *DB) settled() (now time.Time) {
	now = db.now()
	db.mu.Lock()
	db.settle(now, false)
	return now
}

// settle applies the late requests that are due, each as of its own instant, or all of them.
// Nobody hears of their outcome any more. db.mu is held.
func (db *DB) settle(now time.Time, all bool) {
	slices.SortStableFunc(db.pending, func(a, b pendingRequest) int { return a.due.Compare(b.due) })
	for len(db.pending) > 0 && (all || !db.pending[0].due.After(now)) {
		first := db.pending[0]
		db.pending = db.pending[1:]
		if first.due.After(now) {
			first.due = now
		}
		_, _ = first.request.evaluate(moment{now: first.due})
	}
}
