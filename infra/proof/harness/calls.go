package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Point is one outside call of a function.
type Point struct {
	Op string
	// keys are the call's subjects: items, each "pk|sk", a query's partition, the
	// parameters of statements.
	keys []string
	// begins is what the sort keys of a query begin with, "" for any.
	begins string
	// Checked are the items that a transaction only checks.
	Checked []string
	// Writes: the call may change something.
	Writes bool
	// Many: the call writes several items.
	Many bool
}

func (p Point) String() string {
	text := p.Op + " " + strings.Join(p.keys, " ")
	if p.begins != "" {
		text += "|" + p.begins
	}
	return text
}

// Interceptor decides what happens to an outside call: it runs do at most once, or ends the
// calling environment.
type Interceptor interface {
	Intercept(ctx context.Context, e *Environment, p Point, do func() error) error
}

// ErrTimeout is a client's error when its context ends before the answer.
var ErrTimeout = fmt.Errorf("request canceled: %w", context.DeadlineExceeded)

// ErrDown is the error of a call that is not applied.
var ErrDown = errors.New("the service is down")

// tableAPI is one environment's access to the table. It is a ledger.API.
type tableAPI struct{ e *Environment }

// Intercept makes an outside call, if the world's Interceptor lets it.
func Intercept[O any](ctx context.Context, e *Environment, p Point, do func() (O, error)) (out O, err error) {
	e.Calls.Add(1)
	err = e.world.interceptor.Intercept(ctx, e, p, func() (err error) {
		out, err = do()
		return err
	})
	if err != nil {
		var none O
		return none, err
	}
	return out, nil
}

func (t tableAPI) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	p := Point{Op: "GetItem", keys: []string{keyOf(in.Key)}}
	out, err := Intercept(ctx, t.e, p, func() (*dynamodb.GetItemOutput, error) { return t.e.world.DB.GetItem(ctx, in, o...) })
	if err != nil {
		t.e.readFailed = time.Now()
	} else if strings.HasPrefix(p.keys[0], "CLAIM#") && !aws.ToBool(in.ConsistentRead) {
		t.e.lookedForClaim = true
	}
	return out, err
}

func (t tableAPI) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	p := Point{Op: "BatchGetItem"}
	for _, key := range in.RequestItems[TableName].Keys {
		p.keys = append(p.keys, keyOf(key))
	}
	return Intercept(ctx, t.e, p, func() (*dynamodb.BatchGetItemOutput, error) { return t.e.world.DB.BatchGetItem(ctx, in, o...) })
}

func (t tableAPI) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	p := Point{Op: "Query", keys: []string{Text(in.ExpressionAttributeValues[":pk"])}, begins: Text(in.ExpressionAttributeValues[":page"])}
	return Intercept(ctx, t.e, p, func() (*dynamodb.QueryOutput, error) { return t.e.world.DB.Query(ctx, in, o...) })
}

// Scan is only for the replay of a restored table.
func (t tableAPI) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return Intercept(ctx, t.e, Point{Op: "Scan"}, func() (*dynamodb.ScanOutput, error) { return t.e.world.DB.Scan(ctx, in, o...) })
}

func (t tableAPI) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	p := Point{Op: "PutItem", keys: []string{keyOf(in.Item)}, Writes: true}
	return Intercept(ctx, t.e, p, func() (*dynamodb.PutItemOutput, error) { return t.e.world.DB.PutItem(ctx, in, o...) })
}

func (t tableAPI) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	p := Point{Op: "UpdateItem", keys: []string{keyOf(in.Key)}, Writes: true}
	return Intercept(ctx, t.e, p, func() (*dynamodb.UpdateItemOutput, error) { return t.e.world.DB.UpdateItem(ctx, in, o...) })
}

func (t tableAPI) BatchExecuteStatement(ctx context.Context, in *dynamodb.BatchExecuteStatementInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error) {
	p := Point{Op: "BatchExecuteStatement", Writes: true, Many: len(in.Statements) > 1}
	for _, one := range in.Statements {
		for _, parameter := range one.Parameters {
			p.keys = append(p.keys, Text(parameter))
		}
	}
	return Intercept(ctx, t.e, p, func() (*dynamodb.BatchExecuteStatementOutput, error) {
		return t.e.world.DB.BatchExecuteStatement(ctx, in, o...)
	})
}

func (t tableAPI) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	p := Point{Op: "TransactWriteItems", Writes: true, Many: len(in.TransactItems) > 1}
	for _, action := range in.TransactItems {
		switch {
		case action.Update != nil:
			p.keys = append(p.keys, keyOf(action.Update.Key))
		case action.Put != nil:
			p.keys = append(p.keys, keyOf(action.Put.Item))
		case action.ConditionCheck != nil:
			p.Checked = append(p.Checked, keyOf(action.ConditionCheck.Key))
		}
	}
	return Intercept(ctx, t.e, p, func() (*dynamodb.TransactWriteItemsOutput, error) {
		return t.e.world.DB.TransactWriteItems(ctx, in, o...)
	})
}

// queueAPI is one environment's access to the order queue. It is an orderq.API.
type queueAPI struct{ e *Environment }

func (q queueAPI) SendMessage(ctx context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	p := Point{Op: "SendMessage", Writes: true}
	return Intercept(ctx, q.e, p, func() (*sqs.SendMessageOutput, error) { return q.e.world.Queue.SendMessage(in) })
}

func (q queueAPI) GetQueueAttributes(ctx context.Context, _ *sqs.GetQueueAttributesInput, _ ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error) {
	p := Point{Op: "GetQueueAttributes"}
	return Intercept(ctx, q.e, p, func() (*sqs.GetQueueAttributesOutput, error) { return q.e.world.Queue.attributes() })
}
