// Package ledger is the DynamoDB table: every key, expression, transaction and
// cancellation reason of the system is here and nowhere else.
//
// It applies the rules of package sale and contains no HTTP, queue or Lambda. Its
// callers get the codes of package sale only, never a cancellation reason.
//
// The ledger is the only layer that retries DynamoDB calls (P16): its client makes one
// attempt per call, see OneAttempt.
package ledger

import (
	"context"
	crand "crypto/rand"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	transport "github.com/aws/smithy-go/endpoints"

	"flashsale/shared/clock"
	"flashsale/shared/endpoint"
	"flashsale/shared/recent"
)

// API is the part of the DynamoDB client that the ledger uses.
type API interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	BatchExecuteStatement(context.Context, *dynamodb.BatchExecuteStatementInput, ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Options are the ledger's sources of time and randomness; nil fields get real ones.
// All must be safe for concurrent use.
type Options struct {
	// Now is the current instant. Its times must have no monotonic reading, because the
	// age of everything cached is measured by them; the default is clock.Wall.
	Now    func() time.Time
	Random func() float64 // uniform in [0,1): jitter
	// Secret fills a slice with unpredictable bytes: the key of a draw's receipts.
	Secret func([]byte) (int, error)
	NewID  func() string // a fresh, unguessable claim id
}

// Ledger reads and writes one table. It caches sales and claims, is safe for concurrent
// use and meant to live as long as its execution environment.
type Ledger struct {
	api        API
	table      *string
	statements statements
	now        func() time.Time
	random     func() float64
	secret     func([]byte) (int, error)
	newID      func() string
	views      *views
	recent     *recent.Memory[buyer, remembered]
	remaining  *recent.Memory[edition, Remaining]
	editions   *recent.Memory[edition, time.Time] // since when each is known
	groups     *recent.Memory[string, []string]   // the ids of a group's sales
	draws      *draws
	// noted has the sales whose listings note a refund that is younger than noteAge.
	noted *recent.Memory[string, struct{}]
	// pages bounds the pages of claims that passes hold at a time, batches the batches of
	// orders that they read at a time.
	pages, batches chan struct{}
	// refusalReadFailed is when a refusal read last failed, in Unix nanoseconds; 0 is never.
	refusalReadFailed atomic.Int64
}

// New returns a ledger over the table of that name.
func New(api API, table string, o Options) *Ledger {
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
	return &Ledger{
		api:        api,
		table:      aws.String(table),
		statements: newStatements(table),
		now:        o.Now,
		random:     o.Random,
		secret:     o.Secret,
		newID:      o.NewID,
		views:      newViews(),
		recent:     recent.NewMemory[buyer, remembered](maxRecent),
		remaining:  recent.NewMemory[edition, Remaining](maxViews),
		editions:   recent.NewMemory[edition, time.Time](maxViews),
		groups:     recent.NewMemory[string, []string](maxViews),
		draws:      newDraws(),
		noted:      recent.NewMemory[string, struct{}](maxViews),
		pages:      make(chan struct{}, atOnce),
		batches:    make(chan struct{}, atOnce),
	}
}

// FromEnv returns a ledger over the table named by TABLE_NAME. It fails if that is not
// set, so that a misconfigured function fails at start (P19). now is Options.Now.
func FromEnv(cfg aws.Config, now func() time.Time) (*Ledger, error) {
	table := os.Getenv("TABLE_NAME")
	if table == "" {
		return nil, errors.New("TABLE_NAME is not set")
	}
	client := dynamodb.NewFromConfig(cfg, OneAttempt, func(o *dynamodb.Options) {
		o.EndpointResolverV2 = &resolver{own: o.EndpointResolverV2}
	})
	return New(client, table, Options{Now: now}), nil
}

// OneAttempt makes the client try each call once: the ledger does the retries, because
// the SDK neither retries a cancelled transaction nor respects a request's time budget
// (its back-off takes seconds).
func OneAttempt(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// resolver is the client's default resolver with a cache. A table given by ARN may have
// its account's endpoint, so such a call is resolved every time.
type resolver struct {
	own    dynamodb.EndpointResolverV2
	memory endpoint.Memory
}

// ResolveEndpoint implements dynamodb.EndpointResolverV2.
func (r *resolver) ResolveEndpoint(ctx context.Context, p dynamodb.EndpointParameters) (transport.Endpoint, error) {
	if isARN(aws.ToString(p.ResourceArn)) || slices.ContainsFunc(p.ResourceArnList, isARN) || aws.ToBool(p.IsSearchOperation) {
		return r.own.ResolveEndpoint(ctx, p)
	}
	return r.memory.At(endpoint.Place{
		Region: aws.ToString(p.Region), URL: aws.ToString(p.Endpoint),
		AccountID: aws.ToString(p.AccountId), ByAccount: aws.ToString(p.AccountIdEndpointMode),
		DualStack: aws.ToBool(p.UseDualStack), FIPS: aws.ToBool(p.UseFIPS),
	}, func() (transport.Endpoint, error) { return r.own.ResolveEndpoint(ctx, p) })
}

func isARN(table string) bool { return strings.HasPrefix(table, "arn:") }
