package simulate

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

// point is one outside call of a function.
type point struct {
	op string
	// keys are the call's subjects: items, each "pk|sk", a query's partition, the
	// parameters of statements.
	keys []string
	// checked are the items that a transaction only checks.
	checked []string
	// writes: the call may change something.
	writes bool
	// many: the call writes several items.
	many bool
}

func (p point) String() string { return p.op + " " + strings.Join(p.keys, " ") }

// guard decides what happens to an outside call: it runs do at most once, or ends the
// calling environment.
type guard interface {
	call(ctx context.Context, e *environment, p point, do func() error) error
}

// errTimeout is a client's error when its context ends before the answer.
var errTimeout = fmt.Errorf("request canceled: %w", context.DeadlineExceeded)

// errDown is the error of a call that is not applied.
var errDown = errors.New("the service is down")

// tableAPI is one environment's access to the table. It is a ledger.API.
type tableAPI struct{ e *environment }

func through[O any](ctx context.Context, e *environment, p point, do func() (O, error)) (out O, err error) {
	e.reached.Add(1)
	err = e.world.guard.call(ctx, e, p, func() (err error) {
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
	p := point{op: "GetItem", keys: []string{keyOf(in.Key)}}
	out, err := through(ctx, t.e, p, func() (*dynamodb.GetItemOutput, error) { return t.e.world.db.GetItem(ctx, in, o...) })
	if err != nil {
		t.e.readFailed = time.Now()
	} else if strings.HasPrefix(p.keys[0], "CLAIM#") && !aws.ToBool(in.ConsistentRead) {
		t.e.looked = true
	}
	return out, err
}

func (t tableAPI) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	p := point{op: "BatchGetItem"}
	for _, key := range in.RequestItems[tableName].Keys {
		p.keys = append(p.keys, keyOf(key))
	}
	return through(ctx, t.e, p, func() (*dynamodb.BatchGetItemOutput, error) { return t.e.world.db.BatchGetItem(ctx, in, o...) })
}

func (t tableAPI) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	p := point{op: "Query", keys: []string{text(in.ExpressionAttributeValues[":pk"])}}
	return through(ctx, t.e, p, func() (*dynamodb.QueryOutput, error) { return t.e.world.db.Query(ctx, in, o...) })
}

func (t tableAPI) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	p := point{op: "PutItem", keys: []string{keyOf(in.Item)}, writes: true}
	return through(ctx, t.e, p, func() (*dynamodb.PutItemOutput, error) { return t.e.world.db.PutItem(ctx, in, o...) })
}

func (t tableAPI) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	p := point{op: "UpdateItem", keys: []string{keyOf(in.Key)}, writes: true}
	return through(ctx, t.e, p, func() (*dynamodb.UpdateItemOutput, error) { return t.e.world.db.UpdateItem(ctx, in, o...) })
}

func (t tableAPI) BatchExecuteStatement(ctx context.Context, in *dynamodb.BatchExecuteStatementInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error) {
	p := point{op: "BatchExecuteStatement", writes: true, many: len(in.Statements) > 1}
	for _, one := range in.Statements {
		for _, parameter := range one.Parameters {
			p.keys = append(p.keys, text(parameter))
		}
	}
	return through(ctx, t.e, p, func() (*dynamodb.BatchExecuteStatementOutput, error) {
		return t.e.world.db.BatchExecuteStatement(ctx, in, o...)
	})
}

func (t tableAPI) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	p := point{op: "TransactWriteItems", writes: true, many: len(in.TransactItems) > 1}
	for _, action := range in.TransactItems {
		switch {
		case action.Update != nil:
			p.keys = append(p.keys, keyOf(action.Update.Key))
		case action.Put != nil:
			p.keys = append(p.keys, keyOf(action.Put.Item))
		case action.ConditionCheck != nil:
			p.checked = append(p.checked, keyOf(action.ConditionCheck.Key))
		}
	}
	return through(ctx, t.e, p, func() (*dynamodb.TransactWriteItemsOutput, error) {
		return t.e.world.db.TransactWriteItems(ctx, in, o...)
	})
}

// queueAPI is one environment's access to the order queue. It is an orderq.API.
type queueAPI struct{ e *environment }

func (q queueAPI) SendMessage(ctx context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	p := point{op: "SendMessage", writes: true}
	return through(ctx, q.e, p, func() (*sqs.SendMessageOutput, error) { return q.e.world.queue.SendMessage(in) })
}

func (q queueAPI) GetQueueAttributes(ctx context.Context, _ *sqs.GetQueueAttributesInput, _ ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error) {
	p := point{op: "GetQueueAttributes"}
	return through(ctx, q.e, p, func() (*sqs.GetQueueAttributesOutput, error) { return q.e.world.queue.attributes() })
}
