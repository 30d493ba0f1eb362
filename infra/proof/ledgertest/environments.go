package ledgertest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// Hooked is an environment with a hook around its calls of the table.
func (w *World) Hooked(hook dynamotest.Hook) *ledger.Ledger {
	return w.EnvironmentOver(dynamotest.WithHook(w.Engine.API, hook))
}

// overtaken is an environment that something else overtakes once, between its reads and its
// first write: before its first call of that operation; with a read, after it. Other calls
// of it wait.
func (w *World) overtaken(operation string, meanwhile func()) *ledger.Ledger {
	once := once(meanwhile)
	if dynamotest.IsWrite(operation) {
		return w.Hooked(dynamotest.Before(operation, once))
	}
	return w.Hooked(dynamotest.After(operation, once))
}

// once is sync.OnceFunc for what may pause. Virtual time stands still while anybody waits for a mutex, and goes on while
// they wait for a channel.
func once(act func()) func() {
	first, done := make(chan struct{}, 1), make(chan struct{})
	return func() {
		select {
		case first <- struct{}{}:
			defer close(done)
			act()
		case <-done:
		}
	}
}

// before is an environment in which something else happens before each call of an operation,
// one after the other.
func (w *World) before(operation string, act func()) *ledger.Ledger {
	turn := make(chan struct{}, 1)
	return w.Hooked(dynamotest.Before(operation, func() {
		turn <- struct{}{}
		defer func() { <-turn }()
		act()
	}))
}

// beforeTransaction is an environment in which something happens before its n-th transaction, counted from 1.
func (w *World) beforeTransaction(n int, act func()) *ledger.Ledger {
	at := 0
	return w.before("TransactWriteItems", func() {
		if at++; at == n {
			act()
		}
	})
}

var errDead = errors.New("the writer is dead")

func applied(r types.BatchStatementResponse) bool { return r.Error == nil }

// cutAfter is a writer that dies after that many writes, and its context: nothing after
// them is applied. What is refused does not count.
func (w *World) cutAfter(writes int) (context.Context, *ledger.Ledger) {
	ctx, cancel := context.WithCancel(w.Ctx)
	w.T.Cleanup(cancel)
	var left atomic.Int64
	left.Store(int64(writes))
	return ctx, w.Hooked(func(op string, _ any, call func() (any, error)) (any, error) {
		if !dynamotest.IsWrite(op) {
			return call()
		}
		if left.Add(-1) < 0 {
			cancel()
			return nil, errDead
		}
		out, err := call()
		statements, isBatch := out.(*dynamodb.BatchExecuteStatementOutput)
		if err != nil || isBatch && !slices.ContainsFunc(statements.Responses, applied) {
			left.Add(1)
		}
		return out, err
	})
}

// cutReads is a reader whose process dies after that many reads.
func (w *World) cutReads(reads int) (context.Context, *ledger.Ledger) {
	ctx, cancel := context.WithCancel(w.Ctx)
	w.T.Cleanup(cancel)
	var mu sync.Mutex
	dead := func() bool {
		mu.Lock()
		defer mu.Unlock()
		reads--
		return reads < 0
	}
	return ctx, w.Hooked(func(op string, _ any, call func() (any, error)) (any, error) {
		if (op == "Query" || op == "BatchGetItem") && dead() {
			cancel()
			return nil, errDead
		}
		return call()
	})
}

// heldBack is a purchase whose transaction is applied only when it is told to. It returns the
// answer that it then gets.
func (w *World) heldBack(user string) (apply func() error) {
	w.T.Helper()
	var held *dynamodb.TransactWriteItemsInput
	ctx, cancel := context.WithCancel(w.Ctx)
	defer cancel()
	l := w.Hooked(func(op string, in any, call func() (any, error)) (any, error) {
		if op != "TransactWriteItems" {
			return call()
		}
		held = in.(*dynamodb.TransactWriteItemsInput)
		cancel()
		return nil, errDead
	})
	w.Refused(sale.Busy, errOf(l.Purchase(ctx, ledger.Request{SaleID: "moutai", User: user})))
	if held == nil {
		w.T.Fatalf("%s tried nothing", user)
	}
	return func() error {
		_, err := look(w.Ctx, w.Engine.API.TransactWriteItems, held)
		return err
	}
}

// isCancelled expects that a transaction was refused.
func (w *World) isCancelled(err error) {
	w.T.Helper()
	_, ok := errors.AsType[*types.TransactionCanceledException](err)
	check(w.T, ok, "got %v, want a cancelled transaction", err)
}

// failing is an environment in which calls of an operation fail for good, but for the first few.
func (w *World) failing(operation string, first int64) *ledger.Ledger {
	var left atomic.Int64
	left.Store(first)
	return w.Hooked(func(op string, _ any, call func() (any, error)) (any, error) {
		if op == operation && left.Add(-1) < 0 {
			return nil, &types.ResourceNotFoundException{}
		}
		return call()
	})
}

// forgetful is an environment in which the answer to every transaction is lost.
func (w *World) forgetful() *ledger.Ledger {
	return w.Hooked(func(op string, _ any, call func() (any, error)) (any, error) {
		out, err := call()
		if op == "TransactWriteItems" && err == nil {
			return nil, errDead
		}
		return out, err
	})
}
