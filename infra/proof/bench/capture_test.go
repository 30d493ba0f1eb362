package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"

	"flashsale/shared/ledger"
)

// capture records the inputs of a handler's calls, so that the bare side always makes
// exactly the same calls.
type capture struct {
	mu     sync.Mutex
	inputs []any
}

// attach makes every client of the configuration record its inputs.
func (c *capture) attach(cfg aws.Config) aws.Config {
	note := middleware.InitializeMiddlewareFunc("capture", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		c.mu.Lock()
		c.inputs = append(c.inputs, in.Parameters)
		c.mu.Unlock()
		return next.HandleInitialize(ctx, in)
	})
	cfg = cfg.Copy()
	cfg.APIOptions = append(cfg.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(note, middleware.Before)
	})
	return cfg
}

// bareClients are the functions' clients alone.
type bareClients struct {
	table *dynamodb.Client
	queue *sqs.Client
}

func newBareClients(cfg aws.Config) bareClients {
	return bareClients{
		dynamodb.NewFromConfig(cfg, ledger.OneAttempt, func(o *dynamodb.Options) { o.IdempotencyTokenProvider = nil }),
		sqs.NewFromConfig(cfg, func(o *sqs.Options) { o.Retryer = aws.NopRetryer{} }),
	}
}

// replay makes the calls again in order. A cancelled transaction is an answer.
func (b bareClients) replay(ctx context.Context, inputs []any) error {
	for _, input := range inputs {
		err := b.call(ctx, input)
		if _, cancelled := errors.AsType[*types.TransactionCanceledException](err); err != nil && !cancelled {
			return err
		}
	}
	return nil
}

func (b bareClients) call(ctx context.Context, input any) (err error) {
	switch in := input.(type) {
	case *dynamodb.GetItemInput:
		_, err = b.table.GetItem(ctx, in)
	case *dynamodb.BatchGetItemInput:
		_, err = b.table.BatchGetItem(ctx, in)
	case *dynamodb.TransactGetItemsInput:
		_, err = b.table.TransactGetItems(ctx, in)
	case *dynamodb.UpdateItemInput:
		_, err = b.table.UpdateItem(ctx, in)
	case *dynamodb.TransactWriteItemsInput:
		_, err = b.table.TransactWriteItems(ctx, in)
	case *dynamodb.BatchExecuteStatementInput:
		_, err = b.table.BatchExecuteStatement(ctx, in)
	case *sqs.SendMessageInput:
		_, err = b.queue.SendMessage(ctx, in)
	default:
		err = fmt.Errorf("no such call: %T", in)
	}
	return err
}
