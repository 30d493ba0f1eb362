package dynamotest

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// API is what a table's user calls, of a DB or of a real engine.
type API interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	TransactGetItems(context.Context, *dynamodb.TransactGetItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	BatchExecuteStatement(context.Context, *dynamodb.BatchExecuteStatementInput, ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error)
}

// Hook stands around every call of an API: it may act before the call and after it, change
// its answer, or give another one instead of making it. Op is the operation, in and the
// answer are its input and its output, like *dynamodb.QueryInput and *dynamodb.QueryOutput.
// It must be safe for concurrent use.
type Hook func(op string, in any, call func() (any, error)) (any, error)

// WithHook is an API with a hook around its calls.
func WithHook(api API, hook Hook) API { return hooked{api, hook} }

// Before acts before each call of an operation.
func Before(op string, act func()) Hook {
	return func(called string, _ any, call func() (any, error)) (any, error) {
		if called == op {
			act()
		}
		return call()
	}
}

// After acts after each call of an operation.
func After(op string, act func()) Hook {
	return func(called string, _ any, call func() (any, error)) (any, error) {
		if called == op {
			defer act()
		}
		return call()
	}
}

// Instead answers the calls of an operation, none of which is made.
func Instead[Out any](op string, answer func() (*Out, error)) Hook {
	return func(called string, _ any, call func() (any, error)) (any, error) {
		if called == op {
			return answer()
		}
		return call()
	}
}

// IsWrite reports whether an operation writes.
func IsWrite(op string) bool {
	return slices.Contains([]string{"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchExecuteStatement"}, op)
}

type hooked struct {
	api  API
	hook Hook
}

func around[In, Out any](h hooked, op string, ctx context.Context, in *In, o []func(*dynamodb.Options),
	call func(context.Context, *In, ...func(*dynamodb.Options)) (*Out, error)) (*Out, error) {
	out, err := h.hook(op, in, func() (any, error) { return call(ctx, in, o...) })
	answer, _ := out.(*Out)
	return answer, err
}

func (h hooked) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return around(h, "GetItem", ctx, in, o, h.api.GetItem)
}

func (h hooked) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return around(h, "BatchGetItem", ctx, in, o, h.api.BatchGetItem)
}

func (h hooked) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return around(h, "Query", ctx, in, o, h.api.Query)
}

func (h hooked) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return around(h, "PutItem", ctx, in, o, h.api.PutItem)
}

func (h hooked) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return around(h, "UpdateItem", ctx, in, o, h.api.UpdateItem)
}

func (h hooked) TransactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error) {
	return around(h, "TransactGetItems", ctx, in, o, h.api.TransactGetItems)
}

func (h hooked) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return around(h, "TransactWriteItems", ctx, in, o, h.api.TransactWriteItems)
}

func (h hooked) BatchExecuteStatement(ctx context.Context, in *dynamodb.BatchExecuteStatementInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error) {
	return around(h, "BatchExecuteStatement", ctx, in, o, h.api.BatchExecuteStatement)
}
