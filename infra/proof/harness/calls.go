package harness

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"flashsale/infra/kit/dynamotest"
)

// Point is one outside call of a function.
type Point struct {
	Op string
	// keys are the call's subjects: items, each "pk|sk", a query's partition, the
	// parameters of statements.
	keys []string
	// begins is what the sort keys of a query begin with, "" for any.
	begins string
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

// perform makes one call of the table.
func perform[I, O any](ctx context.Context, t tableAPI, op string, in *I, do func(context.Context, *I, ...func(*dynamodb.Options)) (*O, error)) (*O, error) {
	return Intercept(ctx, t.e, pointOf(op, in), func() (*O, error) { return do(ctx, in) })
}

func pointOf(op string, in any) Point {
	p := Point{Op: op, Writes: dynamotest.IsWrite(op)}
	switch in := in.(type) {
	case *dynamodb.GetItemInput:
		p.keys = []string{keyOf(in.Key)}
	case *dynamodb.BatchGetItemInput:
		for _, key := range in.RequestItems[TableName].Keys {
			p.keys = append(p.keys, keyOf(key))
		}
	case *dynamodb.TransactGetItemsInput:
		for _, read := range in.TransactItems {
			p.keys = append(p.keys, keyOf(read.Get.Key))
		}
	case *dynamodb.QueryInput:
		p.keys, p.begins = []string{Text(in.ExpressionAttributeValues[":pk"])}, Text(in.ExpressionAttributeValues[":head"])
	case *dynamodb.PutItemInput:
		p.keys = []string{keyOf(in.Item)}
	case *dynamodb.UpdateItemInput:
		p.keys = []string{keyOf(in.Key)}
	case *dynamodb.BatchExecuteStatementInput:
		p.Many = len(in.Statements) > 1
		for _, one := range in.Statements {
			for _, parameter := range one.Parameters {
				p.keys = append(p.keys, Text(parameter))
			}
		}
	case *dynamodb.TransactWriteItemsInput:
		p.Many = len(in.TransactItems) > 1
		for _, action := range in.TransactItems {
			switch {
			case action.Update != nil:
				p.keys = append(p.keys, keyOf(action.Update.Key))
			case action.Put != nil:
				p.keys = append(p.keys, keyOf(action.Put.Item))
			}
		}
	}
	return p
}

func (t tableAPI) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	out, err := perform(ctx, t, "GetItem", in, t.e.world.DB.GetItem)
	if err != nil {
		t.e.readFailed = time.Now()
	} else if strings.HasPrefix(keyOf(in.Key), "CLAIM#") && !aws.ToBool(in.ConsistentRead) {
		t.e.lookedForClaim = true
	}
	return out, err
}

func (t tableAPI) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return perform(ctx, t, "BatchGetItem", in, t.e.world.DB.BatchGetItem)
}

func (t tableAPI) TransactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error) {
	return perform(ctx, t, "TransactGetItems", in, t.e.world.DB.TransactGetItems)
}

func (t tableAPI) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return perform(ctx, t, "Query", in, t.e.world.DB.Query)
}

// Scan is only for the replay of a restored table.
func (t tableAPI) Scan(ctx context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return perform(ctx, t, "Scan", in, t.e.world.DB.Scan)
}

func (t tableAPI) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return perform(ctx, t, "PutItem", in, t.e.world.DB.PutItem)
}

func (t tableAPI) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return perform(ctx, t, "UpdateItem", in, t.e.world.DB.UpdateItem)
}

func (t tableAPI) BatchExecuteStatement(ctx context.Context, in *dynamodb.BatchExecuteStatementInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error) {
	return perform(ctx, t, "BatchExecuteStatement", in, t.e.world.DB.BatchExecuteStatement)
}

func (t tableAPI) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return perform(ctx, t, "TransactWriteItems", in, t.e.world.DB.TransactWriteItems)
}

// queueAPI is one environment's access to the order queue. It is an orderq.API.
type queueAPI struct{ e *Environment }

func (q queueAPI) SendMessage(ctx context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	return Intercept(ctx, q.e, Point{Op: "SendMessage", Writes: true}, func() (*sqs.SendMessageOutput, error) {
		f := q.e.world.Queue.Fault("SendMessage")
		return under(f, func() (*sqs.SendMessageOutput, error) {
			id := q.e.world.Queue.Put(aws.ToString(in.MessageBody), time.Now().Add(f.After))
			return &sqs.SendMessageOutput{MessageId: &id}, nil
		})
	})
}

// GetQueueAttributes returns the sum of the three counts as one.
func (q queueAPI) GetQueueAttributes(ctx context.Context, _ *sqs.GetQueueAttributesInput, _ ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error) {
	return Intercept(ctx, q.e, Point{Op: "GetQueueAttributes"}, func() (*sqs.GetQueueAttributesOutput, error) {
		return under(q.e.world.Queue.Fault("GetQueueAttributes"), func() (*sqs.GetQueueAttributesOutput, error) {
			return &sqs.GetQueueAttributesOutput{Attributes: map[string]string{
				"ApproximateNumberOfMessages":           strconv.Itoa(q.e.world.Queue.Depth()),
				"ApproximateNumberOfMessagesNotVisible": "0",
				"ApproximateNumberOfMessagesDelayed":    "0",
			}}, nil
		})
	})
}
