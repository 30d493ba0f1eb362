package ledgertest

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
)

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
