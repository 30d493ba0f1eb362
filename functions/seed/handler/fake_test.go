package handler

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"

	"flashsale/shared/clock"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

var now = time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)

// ledgerOfSales keeps sales in memory by the ledger's rules: a creation and an
// addition apply once, an edit if it has no instant or a newer one than the last.
type ledgerOfSales struct {
	created  map[string]sale.Creation
	seeded   map[string]int64
	added    map[string]int64 // by sale and seed id; a withdrawal's units are negative
	edited   map[string]sale.Sale
	edits    []sale.Edit
	fault    error
	panics   bool
	calls    int
	deadline time.Time // of the last context
}

func (l *ledgerOfSales) call(ctx context.Context) error {
	l.calls++
	l.deadline, _ = ctx.Deadline()
	if l.panics {
		panic("the table is on fire")
	}
	return l.fault
}

func (l *ledgerOfSales) left(saleID string, applied bool) (ledger.Seeding, error) {
	c, ok := l.created[saleID]
	if !ok {
		return ledger.Seeding{}, sale.Refuse(sale.SaleNotFound, "no such sale")
	}
	return ledger.Seeding{SaleID: saleID, Seeded: l.seeded[saleID], Shards: c.Shards, Applied: applied}, nil
}

func (l *ledgerOfSales) Create(ctx context.Context, c sale.Creation) (ledger.Seeding, error) {
	if err := l.call(ctx); err != nil {
		return ledger.Seeding{}, err
	}
	before, exists := l.created[c.SaleID]
	if exists && before != c {
		return ledger.Seeding{}, sale.Refuse(sale.Conflicting, "the sale was created with other contents")
	}
	if !exists {
		l.created[c.SaleID], l.seeded[c.SaleID] = c, c.Stock
	}
	return l.left(c.SaleID, !exists)
}

func (l *ledgerOfSales) Created(ctx context.Context, saleID string) (bool, error) {
	_, exists := l.created[saleID]
	return exists, l.call(ctx)
}

func (l *ledgerOfSales) Add(ctx context.Context, a sale.Addition) (ledger.Seeding, error) {
	if err := l.call(ctx); err != nil {
		return ledger.Seeding{}, err
	}
	if _, ok := l.created[a.SaleID]; !ok {
		return l.left(a.SaleID, false)
	}
	id := a.SaleID + "/" + a.SeedID
	before, exists := l.added[id]
	if exists && before != a.Stock {
		return ledger.Seeding{}, sale.Refuse(sale.Conflicting, "the seedId was used before with another stock")
	}
	if !exists {
		l.added[id] = a.Stock
		l.seeded[a.SaleID] += a.Stock
	}
	return l.left(a.SaleID, !exists)
}

// Withdraw takes the requested units: there are no buyers here.
func (l *ledgerOfSales) Withdraw(ctx context.Context, w sale.Withdrawal) (ledger.Withdrawn, error) {
	w.Stock = -w.Stock
	s, err := l.Add(ctx, sale.Addition(w))
	return ledger.Withdrawn{Seeding: s, Units: -w.Stock}, err
}

func (l *ledgerOfSales) Edit(ctx context.Context, e sale.Edit) (ledger.Edited, error) {
	if err := l.call(ctx); err != nil {
		return ledger.Edited{}, err
	}
	c, ok := l.created[e.SaleID]
	if !ok {
		return ledger.Edited{}, sale.Refuse(sale.SaleNotFound, "no such sale")
	}
	before, ok := l.edited[e.SaleID]
	if !ok {
		before = sale.Sale{ID: c.SaleID, OpensAt: c.OpensAt, ClosesAt: c.ClosesAt, Shards: c.Shards}
	}
	before.Seeded = l.seeded[e.SaleID]
	at := e.At
	if at.IsZero() {
		at = now
		if !before.ChangedAt.Before(now) {
			at = before.ChangedAt.Add(time.Millisecond)
		}
	}
	l.edits = append(l.edits, e)
	after := before
	if at.After(before.ChangedAt) {
		after = e.Apply(before, at)
	}
	l.edited[e.SaleID] = after
	if !e.Agrees(after) {
		return ledger.Edited{}, sale.Refuse(sale.Conflicting, "an edit of 2026-01-02T00:00:00.000Z stands: the sale is not paused")
	}
	return ledger.Edited{Sale: after, Applied: at.After(before.ChangedAt)}, nil
}

// event is the shared harness's function.
var event = httpapitest.Event

// function is the handler as Lambda calls it, with its dependencies.
type function struct {
	ledgerOfSales
	httpapitest.Function
}

func newFunction(t *testing.T) *function {
	t.Helper()
	t.Setenv("AWS_LAMBDA_LOG_LEVEL", "")
	f := &function{ledgerOfSales: ledgerOfSales{
		created: map[string]sale.Creation{}, seeded: map[string]int64{},
		added: map[string]int64{}, edited: map[string]sale.Sale{},
	}}
	h := New(&f.ledgerOfSales, telemetry.New(&f.Log, "seed", clock.Wall), func() time.Time { return now })
	f.Handler = lambda.NewHandler(h.Handle)
	return f
}

// invoke runs one event and returns its answer or its function error.
func (f *function) invoke(t *testing.T, ctx context.Context, event []byte) (string, *messages.InvokeResponse_Error) {
	t.Helper()
	raw, err := f.Invoke(t, ctx, event)
	if err == nil {
		return string(raw), nil
	}
	// Lambda reads type and message from an error of exactly this type.
	failure, ok := err.(messages.InvokeResponse_Error)
	if !ok {
		t.Fatalf("the function failed with %T: %v", err, err)
	}
	return "", &failure
}

// succeed runs one event that must succeed.
func (f *function) succeed(t *testing.T, event []byte, want string) {
	t.Helper()
	if got, failure := f.invoke(t, t.Context(), event); failure != nil || got != want {
		t.Errorf("%s: answer %s, error %+v; want %s", event, got, failure, want)
	}
}

// refuse runs one event that must fail with that code, without showing internal errors.
func (f *function) refuse(t *testing.T, event []byte, want sale.Code) {
	t.Helper()
	_, failure := f.invoke(t, t.Context(), event)
	if failure == nil {
		t.Errorf("%s: no error, want %s", event, want)
		return
	}
	if failure.Type != string(want) || !strings.HasPrefix(failure.Message, string(want)) || len(failure.StackTrace) != 0 || failure.ShouldExit {
		t.Errorf("%s: error %+v, want %s", event, failure, want)
	}
	for _, word := range []string{"goroutine", "panic", "Exception", "ledger-7", "on fire"} {
		if strings.Contains(failure.Message, word) {
			t.Errorf("the error tells %q: %s", word, failure.Message)
		}
	}
	if outcome := f.Logged(t, "outcome"); outcome != string(want) {
		t.Errorf("outcome %v, want %s", outcome, want)
	}
}

var errForeign = errors.New("ValidationException: the table ledger-7 has no such index")
