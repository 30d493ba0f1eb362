// Package table is the DynamoDB table: its keys, its items and what they mean, and the calls
// that read and write them. It has no rules of its own; those are in the packages above it.
//
// It is the only layer that retries DynamoDB calls (P16): its client makes one attempt per call.
package table

import (
	"context"
	crand "crypto/rand"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/shared/clock"
)

// API is the part of the DynamoDB client that the ledger uses.
type API interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	BatchGetItem(
		context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options),
	) (*dynamodb.BatchGetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	BatchExecuteStatement(
		context.Context, *dynamodb.BatchExecuteStatementInput, ...func(*dynamodb.Options),
	) (*dynamodb.BatchExecuteStatementOutput, error)
	TransactGetItems(
		context.Context, *dynamodb.TransactGetItemsInput, ...func(*dynamodb.Options),
	) (*dynamodb.TransactGetItemsOutput, error)
	TransactWriteItems(
		context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options),
	) (*dynamodb.TransactWriteItemsOutput, error)
}

// Options are the sources of time and randomness; nil fields get real ones. All must be safe for
// concurrent use.
type Options struct {
	// Now is the current instant. Its times must have no monotonic reading, because the
	// age of everything cached is measured by them; the default is clock.Wall.
	Now    func() time.Time
	Random func() float64 // uniform in [0,1): jitter
	// Secret fills a slice with unpredictable bytes: the key of a draw's entries.
	Secret func([]byte) (int, error)
	NewID  func() string // a fresh, unguessable id
}

// Table reads and writes one table. It is safe for concurrent use.
type Table struct {
	Options
	API  API
	Name *string
}

// New returns the table of that name.
func New(api API, name string, o Options) *Table {
	if o.Now == nil {
		o.Now = clock.Wall
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	if o.Secret == nil {
		o.Secret = crand.Read
	}
	if o.NewID == nil {
		o.NewID = crand.Text
	}
	return &Table{Options: o, API: api, Name: aws.String(name)}
}
