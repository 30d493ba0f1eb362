package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/dynamotest"
)

// fake is a DynamoDB in this process.
type fake struct{ *dynamotest.DB }

func (fake) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	return nil, errors.ErrUnsupported
}

func TestAnEventThatDoesNotComeIsAViolation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, name := fake{dynamotest.New(dynamotest.Table{Name: tableName, PK: "pk", SK: "sk"})}, tableName
		text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
		number := func(n int64) types.AttributeValue {
			return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
		}
		if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: map[string]types.AttributeValue{
			"pk": text("REFUND#"), "sk": text("stripe#pi_1"), "reason": text("unknown-order"),
			"amount": number(100), "currency": text("CNY"), "at": number(time.Now().UnixMilli()),
		}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		file := filepath.Join(t.TempDir(), "events.jsonl")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		sum, began := &summary{}, time.Now()
		err := (&tally{out: &out, sum: sum}).published(t.Context(), db, file)
		if want := "event RefundDue::stripe#pi_1 was not published (P26)"; err != nil || sum.violations != 1 || !strings.Contains(out.String(), want) {
			t.Errorf("%d violations, printed %q (%v)", sum.violations, &out, err)
		}
		if waited := time.Since(began); waited < ordersTime || waited > ordersTime+books.SettleTime {
			t.Errorf("it waited for %v", waited)
		}
	})
}
