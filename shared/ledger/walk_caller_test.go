package ledger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"flashsale/shared/ledger"
)

// caller is a caller's access to the table until it dies: with the write of that name,
// or never. Of releases of several shards, which run at the same time, it makes only the
// one of that name.
type caller struct {
	ledger.API
	until string
	hold  bool

	mu     sync.Mutex
	times  map[string]int
	writes []string
	dead   bool
	sent   *request
}

// errCallerDied ends an operation at once.
var errCallerDied = &smithy.GenericAPIError{Code: "ValidationException", Message: "the caller died"}

func reads[I, O any](c *caller, ctx context.Context, call func(context.Context, I, ...func(*dynamodb.Options)) (O, error), in I) (O, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		var none O
		return none, errCallerDied
	}
	return call(ctx, in)
}

func writes[I, O any](c *caller, ctx context.Context, name string, call func(context.Context, I, ...func(*dynamodb.Options)) (O, error), in I) (O, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var none O
	if c.dead {
		return none, errCallerDied
	}
	c.times[name]++
	kind := name
	name = fmt.Sprintf("%s (%d)", name, c.times[name])
	if name != c.until && isRelease(kind) && isRelease(c.until) {
		return none, errCallerDied
	}
	c.writes = append(c.writes, name)
	if name != c.until {
		return call(ctx, in)
	}
	c.dead = true
	if !c.hold {
		_, _ = call(ctx, in)
		return none, errCallerDied
	}
	text, err := json.Marshal(in)
	if err != nil {
		panic(err) // requests are plain data
	}
	c.sent = &request{string(text), func(ctx context.Context) error {
		_, err := call(ctx, in)
		return err
	}}
	return none, errCallerDied
}

func isRelease(name string) bool { return strings.HasPrefix(name, "release ") }

func (c *caller) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return reads(c, ctx, c.API.GetItem, in)
}

func (c *caller) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return reads(c, ctx, c.API.BatchGetItem, in)
}

func (c *caller) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return reads(c, ctx, c.API.Query, in)
}

func (c *caller) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return writes(c, ctx, "put "+nameOf(in.Item), c.API.PutItem, in)
}

func (c *caller) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return writes(c, ctx, "update "+nameOf(in.Key), c.API.UpdateItem, in)
}

func (c *caller) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	var names []string
	for _, action := range in.TransactItems {
		switch {
		case action.Update != nil:
			names = append(names, nameOf(action.Update.Key))
		case action.Put != nil:
			names = append(names, nameOf(action.Put.Item))
		}
	}
	verb := "transact "
	if first := in.TransactItems[0].Update; first != nil && strings.Contains(*first.UpdateExpression, "#released") {
		verb = "release "
	}
	return writes(c, ctx, verb+strings.Join(names, ", "), c.API.TransactWriteItems, in)
}

func nameOf(key map[string]types.AttributeValue) string {
	return key["pk"].(*types.AttributeValueMemberS).Value + " " + key["sk"].(*types.AttributeValueMemberS).Value
}
