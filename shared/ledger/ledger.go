// Package ledger is what a sale is in the DynamoDB table: every key, expression, transaction and
// cancellation reason of the system is here, in package table below it and in package
// maintenance above it, and nowhere else.
//
// It applies the rules of package sale and contains no HTTP, queue or Lambda. Its
// callers get the codes of package sale only, never a cancellation reason.
package ledger

import (
	"errors"
	"os"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/shared/cache"
	"flashsale/shared/ledger/table"
)

// API is the part of the DynamoDB client that the ledger uses.
type API = table.API

// Options are the ledger's sources of time and randomness; nil fields get real ones.
type Options = table.Options

// Ledger reads and writes one table. It caches sales and claims, is safe for concurrent
// use and meant to live as long as its execution environment.
type Ledger struct {
	table      *table.Table
	statements statements
	now        func() time.Time // the table's
	newID      func() string
	views      *views
	recent     *cache.Memory[buyer, remembered]
	remaining  *cache.Memory[edition, Remaining]
	editions   *cache.Memory[edition, time.Time] // since when each is known
	groups     *cache.Memory[string, []string]   // the ids of a group's sales
	sending    *cache.Memory[string, []string]   // the ids of all sales with refunds, by sending
	draws      *draws
	// noted has the sales whose listings note a refund that is younger than noteAge.
	noted *cache.Memory[string, struct{}]
	// pages bounds the pages of claims that passes hold at a time, batches the batches of
	// orders that they read at a time.
	pages, batches chan struct{}
	// refusalReadFailed is when a refusal read last failed, in Unix nanoseconds; 0 is never.
	refusalReadFailed atomic.Int64
}

// New returns a ledger over the table of that name.
func New(api API, name string, o Options) *Ledger {
	t := table.New(api, name, o)
	return &Ledger{
		table:      t,
		statements: newStatements(name),
		now:        t.Now,
		newID:      t.NewID,
		views:      newViews(),
		recent:     cache.NewMemory[buyer, remembered](maxRecent),
		remaining:  cache.NewMemory[edition, Remaining](maxViews),
		editions:   cache.NewMemory[edition, time.Time](maxViews),
		groups:     cache.NewMemory[string, []string](maxViews),
		sending:    cache.NewMemory[string, []string](maxSendings),
		draws:      newDraws(),
		noted:      cache.NewMemory[string, struct{}](maxViews),
		pages:      make(chan struct{}, table.AtOnce),
		batches:    make(chan struct{}, table.AtOnce),
	}
}

// Table returns the ledger's table, for package maintenance.
func (l *Ledger) Table() *table.Table { return l.table }

// millis is the current instant as the table keeps it.
func (l *Ledger) millis() time.Time { return time.UnixMilli(l.now().UnixMilli()).UTC() }

// FromEnv returns a ledger over the table named by TABLE_NAME. It fails if that is not
// set, so that a misconfigured function fails at start (P19). now is Options.Now.
func FromEnv(cfg aws.Config, now func() time.Time) (*Ledger, error) {
	name := os.Getenv("TABLE_NAME")
	if name == "" {
		return nil, errors.New("TABLE_NAME is not set")
	}
	return New(table.Client(cfg), name, Options{Now: now}), nil
}

// OneAttempt makes a DynamoDB client try each call once, as the ledger needs it.
func OneAttempt(o *dynamodb.Options) { table.OneAttempt(o) }
