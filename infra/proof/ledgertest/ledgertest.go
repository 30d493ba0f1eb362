// Package ledgertest is the behaviour that the ledger shows over any DynamoDB:
// one suite, run over the in-process fake and over a real engine alike, so that
// neither can drift from the other.
//
// It uses the ledger from outside, the promises, and the table as its
// documentation describes it, and no particular engine.
package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// Engine is a DynamoDB with one empty table of string keys pk and sk.
type Engine struct {
	API   ledger.API
	Table string
	// Between, if set, wraps the API for every ledger, but not for what the tests
	// themselves read and write.
	Between func(ledger.API) ledger.API
}

// Run runs the whole suite; each behaviour gets an engine of its own.
func Run(t *testing.T, newEngine func(t *testing.T) Engine) {
	run(t, newEngine, func(t *testing.T, behave func(*testing.T)) { behave(t) })
}

// RunInVirtualTime is Run over an engine in this process: no pause takes time, and
// a slow machine makes no call time out.
func RunInVirtualTime(t *testing.T, newEngine func(t *testing.T) Engine) {
	run(t, newEngine, synctest.Test)
}

func run(t *testing.T, newEngine func(t *testing.T) Engine, in func(*testing.T, func(*testing.T))) {
	for _, group := range []map[string]func(*testing.T, *World){
		creating, adding, withdrawing, limiting, editing, purchasing, confirming, reading, auditing, draining, overtaking, paying, versions, settling, releasing,
		publishing, fating, describing, grouping, recalling, trailing, entering, rolling, calling, beginnings(), turning, operating, meeting, replaying, replayingPayments, holding, erasing, archiving, seeing, recallingPayments,
	} {
		for name, test := range group {
			t.Run(name, func(t *testing.T) { in(t, func(t *testing.T) { test(t, NewWorld(t, newEngine(t))) }) })
		}
	}
}

// Start is where the clock of a World stands first.
var Start = time.Date(2026, 11, 11, 20, 0, 0, 0, time.UTC)

// World is a table, a clock and the verbs of the tests.
type World struct {
	T      *testing.T
	Engine Engine
	Ctx    context.Context
	// Ledger is one execution environment; Environment makes another.
	Ledger *ledger.Ledger

	mu  sync.Mutex
	now time.Time
	ids int
	// overtakes counts the sales of overtake and pairs.
	overtakes int
}

// NewWorld is a world over an engine, with its clock at Start.
func NewWorld(t *testing.T, e Engine) *World {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	w := &World{T: t, Engine: e, Ctx: ctx, now: Start}
	w.Ledger = w.Environment()
	return w
}

// Environment is a ledger with an empty memory, as a new execution environment
// has it.
func (w *World) Environment() *ledger.Ledger { return w.EnvironmentOver(w.Engine.API) }

// EnvironmentOver is the same over another view of the table.
func (w *World) EnvironmentOver(api ledger.API) *ledger.Ledger {
	if w.Engine.Between != nil {
		api = w.Engine.Between(api)
	}
	return ledger.New(api, w.Engine.Table, ledger.Options{Now: w.Now, NewID: w.newID, Secret: secret})
}

// Now is the instant that every ledger of this world sees.
func (w *World) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// Pass lets time pass.
func (w *World) Pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *World) newID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids++
	return "claim-" + strconv.Itoa(w.ids)
}

// Sale is a creation of a sale that opened a minute ago and closes in an hour.
func (w *World) Sale(stock int64, shards int) sale.Creation {
	return sale.Creation{
		SaleID: "moutai", Name: "Feitian Moutai", Stock: stock, Shards: shards,
		OpensAt: w.Now().Add(-time.Minute), ClosesAt: w.Now().Add(time.Hour),
	}
}

// Open creates a sale of that stock and shards, or ends the test.
func (w *World) Open(stock int64, shards int) sale.Creation {
	w.T.Helper()
	c := w.Sale(stock, shards)
	if s := w.Create(c); !s.Applied {
		w.T.Fatalf("create: not applied: %+v", s)
	}
	return c
}

// Create creates a sale, or ends the test.
func (w *World) Create(c sale.Creation) ledger.Seeding {
	w.T.Helper()
	if err := c.Check(); err != nil {
		w.T.Fatalf("check creation: %v", err)
	}
	s, err := w.Ledger.Create(w.Ctx, c)
	if err != nil {
		w.T.Fatalf("create: %v", err)
	}
	return s
}

// Buy buys for a user, in the world's own environment.
func (w *World) Buy(user string) (ledger.PurchaseResult, error) {
	return w.Ledger.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: user})
}

// BuyWith buys with an Idempotency-Key.
func (w *World) BuyWith(user, key string) (ledger.PurchaseResult, error) {
	return w.Ledger.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: user, Key: key})
}

// Accepted expects that a purchase is accepted.
func (w *World) Accepted(p ledger.PurchaseResult, err error) ledger.PurchaseResult {
	w.T.Helper()
	if err != nil {
		w.T.Fatalf("purchase: %v", err)
	}
	return p
}

// Refused expects a code.
func (w *World) Refused(want sale.Code, err error) *sale.Error {
	w.T.Helper()
	if got := sale.CodeOf(err); got != want {
		w.T.Fatalf("got %q (%v), want %q", got, err, want)
	}
	var e *sale.Error
	errors.As(err, &e)
	return e
}

// look reads for the test itself, past what an engine's faults refuse.
func look[I, O any](ctx context.Context, call func(context.Context, I, ...func(*dynamodb.Options)) (O, error), in I) (out O, err error) {
	for range 50 {
		if out, err = call(ctx, in); err == nil {
			break
		}
	}
	return out, err
}

// Item reads an item as it lies in the table; nil if there is none.
func (w *World) Item(pk, sk string) map[string]types.AttributeValue {
	w.T.Helper()
	out, err := look(w.Ctx, w.Engine.API.GetItem, &dynamodb.GetItemInput{
		TableName: &w.Engine.Table, ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk},
		},
	})
	if err != nil {
		w.T.Fatalf("get %s %s: %v", pk, sk, err)
	}
	return out.Item
}

// Number reads a number attribute.
func (w *World) Number(pk, sk, attribute string) int64 {
	w.T.Helper()
	v, ok := w.Item(pk, sk)[attribute].(*types.AttributeValueMemberN)
	if !ok {
		w.T.Fatalf("%s %s has no number %s", pk, sk, attribute)
	}
	n, err := strconv.ParseInt(v.Value, 10, 64)
	if err != nil {
		w.T.Fatalf("%s %s %s: %v", pk, sk, attribute, err)
	}
	return n
}

// Stock is the units left in the shards 0…n-1.
func (w *World) Stock(n int) []int64 {
	w.T.Helper()
	left := make([]int64, n)
	for k := range n {
		left[k] = w.Number(fmt.Sprintf("STOCK#moutai#%d", k), "STOCK", "stock")
	}
	return left
}

// Claims counts the claims of the sale, per shard.
func (w *World) Claims(shards int) map[int64]int64 {
	w.T.Helper()
	count := map[int64]int64{}
	for bucket := range sale.BucketsFor(shards) {
		for _, it := range w.Partition(fmt.Sprintf("CLAIM#moutai#%d", bucket)) {
			n, err := strconv.ParseInt(it["shard"].(*types.AttributeValueMemberN).Value, 10, 64)
			if err != nil {
				w.T.Fatalf("claim %v: %v", it, err)
			}
			count[n]++
		}
	}
	return count
}

// Partition reads every item under one partition key.
func (w *World) Partition(pk string) []map[string]types.AttributeValue {
	w.T.Helper()
	out, err := look(w.Ctx, w.Engine.API.Query, &dynamodb.QueryInput{
		TableName: &w.Engine.Table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("pk = :pk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: pk}},
	})
	if err != nil {
		w.T.Fatalf("query %s: %v", pk, err)
	}
	return out.Items
}

// Balanced checks P1 to P3 over the table: per shard, stock left plus claims is
// what was seeded.
func (w *World) Balanced(shards int) {
	w.T.Helper()
	claims := w.Claims(shards)
	for k := range shards {
		pk := fmt.Sprintf("STOCK#moutai#%d", k)
		stock, seeded := w.Number(pk, "STOCK", "stock"), w.Number(pk, "STOCK", "seeded")
		if stock < 0 || stock+claims[int64(k)] != seeded {
			w.T.Errorf("shard %d: %d left + %d claims, %d seeded", k, stock, claims[int64(k)], seeded)
		}
	}
}
