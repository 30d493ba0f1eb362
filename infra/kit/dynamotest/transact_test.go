package dynamotest

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestATransactionAppliesAllOrNothingAndSaysWhyInOrder(t *testing.T) {
	db := newDB()
	mustPut(t, db, "STOCK", "S", attributes{"stock": num("1")})
	if _, err := db.TransactWriteItems(t.Context(), buy("alice")); err != nil {
		t.Fatal(err)
	}
	wantItem(t, look(t, db, "STOCK", "S"), `{pk: "STOCK", sk: "S", stock: 0}`)
	before := db.Dump()

	_, err := db.TransactWriteItems(t.Context(), buy("bob"))
	reasons := reasonsOf(t, err)
	if got := codes(reasons); got != "ConditionalCheckFailed None " {
		t.Errorf("reasons %s", got)
	}
	wantItem(t, reasons[0].Item, `{pk: "STOCK", sk: "S", stock: 0}`)
	wantItem(t, reasons[1].Item, "none")

	_, err = db.TransactWriteItems(t.Context(), buy("alice"))
	reasons = reasonsOf(t, err)
	if got := codes(reasons); got != "ConditionalCheckFailed ConditionalCheckFailed " {
		t.Errorf("reasons %s", got)
	}
	wantItem(t, reasons[1].Item, `{pk: "CLAIM", sk: "alice"}`)
	wantCode(t, err, "TransactionCanceledException")
	if db.Dump() != before {
		t.Error("a cancelled transaction wrote")
	}
}

func TestATransactionMayCheckAndDelete(t *testing.T) {
	db := newDB()
	mustPut(t, db, "p", "checked", attributes{"n": num("1")})
	mustPut(t, db, "p", "doomed", nil)
	in := &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{ConditionCheck: &types.ConditionCheck{
			TableName: aws.String(tableName), Key: keyAt("p", "checked"), ConditionExpression: aws.String("n = :one"),
			ExpressionAttributeValues: attributes{":one": num("1")},
		}},
		{Delete: &types.Delete{TableName: aws.String(tableName), Key: keyAt("p", "doomed")}},
	}}
	if _, err := db.TransactWriteItems(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if got, want := db.Dump(), "sales {n: 1, pk: \"p\", sk: \"checked\"}\n"; got != want {
		t.Errorf("left %q, want %q", got, want)
	}
}

func TestAnUpdateThatCannotApplyCancelsItsTransaction(t *testing.T) {
	db := newDB()
	_, err := db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: aws.String(tableName), Item: keyAt("p", "a")}},
		{Update: &types.Update{TableName: aws.String(tableName), Key: keyAt("p", "b"), UpdateExpression: aws.String("SET n = gone")}},
	}})
	if got := codes(reasonsOf(t, err)); got != "None ValidationError " {
		t.Errorf("reasons %s", got)
	}
	if db.Dump() != "" {
		t.Errorf("stored %s", db.Dump())
	}
}

func TestTransactionsThatDynamoDBRefusesToRead(t *testing.T) {
	put := func(sk string) types.TransactWriteItem {
		return types.TransactWriteItem{Put: &types.Put{TableName: aws.String(tableName), Item: keyAt("p", sk)}}
	}
	var tooMany []types.TransactWriteItem
	for i := range 101 {
		tooMany = append(tooMany, put(fmt.Sprint(i)))
	}
	both := put("a")
	both.Delete = &types.Delete{TableName: aws.String(tableName), Key: keyAt("p", "b")}
	for name, actions := range map[string][]types.TransactWriteItem{
		"none": {}, "101 actions": tooMany, "two on one item": {put("a"), put("a")}, "two in one action": {both}, "an empty action": {{}},
	} {
		db := newDB()
		_, err := db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: actions})
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		wantCode(t, err, "ValidationException")
	}
	if _, err := newDB().TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: tooMany[:100]}); err != nil {
		t.Errorf("100 actions: %v", err)
	}
}

func TestATokenIsRefused(t *testing.T) {
	in := buy("alice")
	in.ClientRequestToken = aws.String("token")
	_, err := newDB().TransactWriteItems(t.Context(), in)
	wantCode(t, err, "ValidationException")
}
