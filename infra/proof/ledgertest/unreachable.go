package ledgertest

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
)

// unreachable is a table whose reads are never answered.
type unreachable struct{ ledger.API }

func (unreachable) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return nil, errDead
}

// value is an attribute value as text.
func value(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberBOOL:
		return fmt.Sprint(v.Value)
	case *types.AttributeValueMemberNS:
		return fmt.Sprint(v.Value)
	}
	return fmt.Sprintf("%T", v)
}

func (w *World) remaining() ledger.Remaining {
	w.T.Helper()
	s, err := w.Ledger.Sale(w.Ctx, "moutai")
	if err != nil {
		w.T.Fatal(err)
	}
	r, err := w.Ledger.Remaining(w.Ctx, s)
	if err != nil {
		w.T.Fatal(err)
	}
	return r
}

// cutReads is a reader whose process dies after that many reads.
func (w *World) cutReads(reads int) (context.Context, *ledger.Ledger) {
	ctx, cancel := context.WithCancel(w.Ctx)
	w.T.Cleanup(cancel)
	return ctx, w.EnvironmentOver(&mortal{API: w.Engine.API, left: reads, die: cancel})
}

type mortal struct {
	ledger.API
	mu   sync.Mutex
	left int
	die  context.CancelFunc
}

func (m *mortal) dead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left--; m.left >= 0 {
		return false
	}
	m.die()
	return true
}

func (m *mortal) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if m.dead() {
		return nil, errDead
	}
	return m.API.Query(ctx, in, o...)
}

func (m *mortal) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	if m.dead() {
		return nil, errDead
	}
	return m.API.BatchGetItem(ctx, in, o...)
}
