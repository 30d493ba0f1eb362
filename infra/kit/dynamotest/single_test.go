package dynamotest

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestItemsAreCopiedInAndOut(t *testing.T) {
	db := newDB()
	set := []string{"a"}
	it := keyAt("p", "s")
	it["names"] = strSet(set...)
	if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: it}); err != nil {
		t.Fatal(err)
	}
	want := db.Dump()
	set[0] = "changed by the writer"
	read := look(t, db, "p", "s")
	read["names"].(*types.AttributeValueMemberSS).Value[0] = "changed by the reader"
	db.Items(tableName)[0]["names"] = str("changed by the auditor")
	if got := db.Dump(); got != want {
		t.Errorf("stored item changed from outside:\n%s", got)
	}
}

func TestAFailedConditionWritesNothingAndShowsTheItemIfAsked(t *testing.T) {
	db := newDB()
	mustPut(t, db, "p", "s", attributes{"n": num("1")})
	before := db.Dump()
	for name, onFailure := range map[string]types.ReturnValuesOnConditionCheckFailure{
		"none": "", `{n: 1, pk: "p", sk: "s"}`: types.ReturnValuesOnConditionCheckFailureAllOld,
	} {
		condition := aws.String("attribute_not_exists(pk)")
		_, putErr := db.PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: aws.String(tableName), Item: keyAt("p", "s"), ConditionExpression: condition, ReturnValuesOnConditionCheckFailure: onFailure,
		})
		_, updateErr := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(tableName), Key: keyAt("p", "s"), ConditionExpression: condition, ReturnValuesOnConditionCheckFailure: onFailure,
			UpdateExpression: aws.String("REMOVE n"),
		})
		_, deleteErr := db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
			TableName: aws.String(tableName), Key: keyAt("p", "s"), ConditionExpression: condition, ReturnValuesOnConditionCheckFailure: onFailure,
		})
		for _, err := range []error{putErr, updateErr, deleteErr} {
			var failed *types.ConditionalCheckFailedException
			if !errors.As(err, &failed) {
				t.Fatalf("error %v, want a failed condition", err)
			}
			wantItem(t, failed.Item, name)
			wantCode(t, err, "ConditionalCheckFailedException")
		}
	}
	if db.Dump() != before {
		t.Error("a failed condition wrote")
	}
}

func TestItemsThatDynamoDBDoesNotStore(t *testing.T) {
	with := func(name string, v types.AttributeValue) attributes {
		it := keyAt("p", "s")
		it[name] = v
		return it
	}
	for name, it := range map[string]attributes{
		"no key":                           {},
		"no sort key":                      {"pk": str("p")},
		"an empty key":                     keyAt("", "s"),
		"an empty sort key":                keyAt("p", ""),
		"a number as a key":                {"pk": num("1"), "sk": str("s")},
		"a long partition key":             keyAt(strings.Repeat("p", 2049), "s"),
		"a long sort key":                  keyAt("p", strings.Repeat("s", 1025)),
		"an empty set":                     with("a", strSet()),
		"a set with duplicates":            with("a", numSet("1", "01")),
		"no number":                        with("a", num("1,5")),
		"no value":                         with("a", nil),
		"a list, which nobody here stores": with("a", list(num("1"))),
		"a map, which nobody here stores":  with("a", nested(attributes{})),
		"more than 400 KB":                 with("a", str(strings.Repeat("x", 400<<10))),
	} {
		db := newDB()
		_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: it})
		if err == nil {
			t.Errorf("%s: stored", name)
			continue
		}
		wantCode(t, err, "ValidationException")
	}
	db := newDB()
	mustPut(t, db, strings.Repeat("p", 2048), strings.Repeat("s", 1024), attributes{"empty": str(""), "a": str(strings.Repeat("x", 390<<10))})
}

func TestKeysMustMatchTheSchemaAndTheTableExist(t *testing.T) {
	db := newDB()
	for name, k := range map[string]attributes{
		"missing": nil, "part of it": {"pk": str("p")}, "too much": {"pk": str("p"), "sk": str("s"), "a": str("x")},
		"another name": {"pk": str("p"), "sort": str("s")}, "another type": {"pk": str("p"), "sk": num("1")},
	} {
		_, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: k})
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		wantCode(t, err, "ValidationException")
	}
	_, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("other"), Key: keyAt("p", "s")})
	wantCode(t, err, "ResourceNotFoundException")
}

func TestAProjectionIsRefused(t *testing.T) {
	_, err := newDB().GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(tableName), Key: keyAt("p", "s"), ProjectionExpression: aws.String("n"),
	})
	wantCode(t, err, "ValidationException")
}

func TestATableMayHaveAPartitionKeyOnly(t *testing.T) {
	db := New(Table{Name: "plain", PK: "id"})
	if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("plain"), Item: attributes{"id": str("a")}}); err != nil {
		t.Fatal(err)
	}
	if got, want := db.Dump(), "plain {id: \"a\"}\n"; got != want {
		t.Errorf("stored %q, want %q", got, want)
	}
}
