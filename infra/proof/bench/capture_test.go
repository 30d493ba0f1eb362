package bench

import (
	"context"
	"reflect"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
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
func bareClients(cfg aws.Config) []any {
	return []any{
		dynamodb.NewFromConfig(cfg, ledger.OneAttempt, func(o *dynamodb.Options) { o.IdempotencyTokenProvider = nil }),
		sqs.NewFromConfig(cfg, func(o *sqs.Options) { o.Retryer = aws.NopRetryer{} }),
	}
}

// replay makes the calls again in order, each by the client that has its operation.
func replay(ctx context.Context, clients, inputs []any) error {
	for _, input := range inputs {
		operation := strings.TrimSuffix(reflect.TypeOf(input).Elem().Name(), "Input")
		for _, client := range clients {
			if call := reflect.ValueOf(client).MethodByName(operation); call.IsValid() {
				answer := call.Call([]reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(input)})
				if err, _ := answer[1].Interface().(error); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
