package dynamotest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

type attributes = map[string]types.AttributeValue

func str(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
func num(v string) types.AttributeValue { return &types.AttributeValueMemberN{Value: v} }

const tableName = "sales"

func newDB() *DB { return New(Table{Name: tableName, PK: "pk", SK: "sk"}) }

// clock is a clock that moves only when set.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newClock() *clock { return &clock{time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)} }

func keyAt(pk, sk string) attributes { return attributes{"pk": str(pk), "sk": str(sk)} }

// mustPut stores an item with that key and more attributes.
func mustPut(t *testing.T, db *DB, pk, sk string, more attributes) {
	t.Helper()
	it := keyAt(pk, sk)
	maps.Copy(it, more)
	wantTold(t, db, put(it), "ok")
}

// look returns the current item, nil for none.
func look(t *testing.T, db *DB, pk, sk string) attributes {
	t.Helper()
	out, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(tableName), Key: keyAt(pk, sk), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		t.Fatalf("get %s|%s: %v", pk, sk, err)
	}
	return out.Item
}

// text formats an item for comparison: its names with strings and numbers.
func text(it attributes) string {
	if it == nil {
		return "none"
	}
	plain := map[string]any{}
	for name, v := range it {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			plain[name] = v.Value
		case *types.AttributeValueMemberN:
			plain[name] = v.Value
		}
	}
	return strings.TrimPrefix(fmt.Sprint(plain), "map")
}

func wantItem(t *testing.T, got attributes, want string) {
	t.Helper()
	if text(got) != want {
		t.Errorf("item\n got %s\nwant %s", text(got), want)
	}
}

// call is one call of a DB.
type call func(*DB, context.Context) error

// of is a call of that operation.
func of[In, Out any](op func(*DB, context.Context, *In, ...func(*dynamodb.Options)) (*Out, error), in *In) call {
	return func(db *DB, ctx context.Context) error {
		_, err := op(db, ctx, in)
		return err
	}
}

func put(it attributes) call {
	return of((*DB).PutItem, &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: it})
}

func transact(actions ...types.TransactWriteItem) call {
	return of((*DB).TransactWriteItems, &dynamodb.TransactWriteItemsInput{TransactItems: actions})
}

func inP(sk string) attributes { return keyAt("p", sk) }

// told is what a call answers: "ok", the code of its error, or the reasons of a cancelled
// transaction.
func told(t *testing.T, db *DB, c call) string {
	t.Helper()
	err := c(db, t.Context())
	if err == nil {
		return "ok"
	}
	if operation, ok := errors.AsType[*smithy.OperationError](err); !ok || operation.Service() != "DynamoDB" {
		t.Errorf("error %v is not wrapped as the SDK does", err)
	}
	if canceled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		var codes []string
		for _, r := range canceled.CancellationReasons {
			codes = append(codes, *r.Code)
		}
		return strings.Join(codes, " ")
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return err.Error()
}

func wantTold(t *testing.T, db *DB, c call, want string) {
	t.Helper()
	if got := told(t, db, c); got != want {
		t.Errorf("it answers %s, want %s", got, want)
	}
}

// buy is the transaction of a purchase: a unit of the stock and the buyer's claim.
func buy(user string) call {
	return transact(
		types.TransactWriteItem{Update: &types.Update{
			TableName: aws.String(tableName), Key: keyAt("STOCK", "S"),
			UpdateExpression: aws.String("SET stock = stock - :one"), ConditionExpression: aws.String("stock > :zero"),
			ExpressionAttributeValues:           attributes{":one": num("1"), ":zero": num("0")},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}},
		types.TransactWriteItem{Put: &types.Put{
			TableName: aws.String(tableName), Item: keyAt("CLAIM", user),
			ConditionExpression:                 aws.String("attribute_not_exists(pk)"),
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}},
	)
}

func said(text string, parameters ...types.AttributeValue) types.BatchStatementRequest {
	return types.BatchStatementRequest{Statement: &text, Parameters: parameters}
}

const insertText = `INSERT INTO "sales" VALUE {'pk': ?, 'sk': ?, 'user': ?}`

func insert(sk string) types.BatchStatementRequest {
	return said(insertText, str("ORDER"), str(sk), str("alice"))
}

// answers returns the codes of a batch's statements, "ok" for none.
func answers(t *testing.T, db *DB, all ...types.BatchStatementRequest) string {
	t.Helper()
	out, err := db.BatchExecuteStatement(t.Context(), &dynamodb.BatchExecuteStatementInput{Statements: all})
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, r := range out.Responses {
		if r.Error == nil {
			codes = append(codes, "ok")
		} else {
			codes = append(codes, string(r.Error.Code))
		}
	}
	return strings.Join(codes, " ")
}
