package dynamotest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

func TestAHookActsBeforeAfterOrInsteadOfTheCallsOfItsOperation(t *testing.T) {
	db := newDB()
	mustPut(t, db, "p", "s", nil)
	var stored []string
	note := func() { stored = append(stored, fmt.Sprint(len(db.Items(tableName)))) }
	refused := errors.New("refused")
	for name, tt := range map[string]struct {
		hook   Hook
		noted  string
		err    error
		stored int
	}{
		"before":            {Before("PutItem", note), "[1]", nil, 2},
		"after":             {After("PutItem", note), "[2]", nil, 2},
		"instead":           {Instead("PutItem", func() (*dynamodb.PutItemOutput, error) { return nil, refused }), "[]", refused, 1},
		"another operation": {Before("UpdateItem", note), "[]", nil, 2},
	} {
		stored = nil
		before := db.Snapshot()
		out, err := WithHook(db, tt.hook).PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: keyAt("p", "more")})
		if !errors.Is(err, tt.err) || (out == nil) != (tt.err != nil) || fmt.Sprint(stored) != tt.noted || len(db.Items(tableName)) != tt.stored {
			t.Errorf("%s: %v, %v; noted %v, %d items", name, out, err, stored, len(db.Items(tableName)))
		}
		db.Restore(before)
	}
}
