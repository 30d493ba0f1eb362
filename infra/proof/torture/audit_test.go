package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/kit/verdict"
)

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func TestAnAuditFindsWhatIsWrongWithTheTableAndItsAnswers(t *testing.T) {
	incomplete := books.Of([]map[string]types.AttributeValue{{"pk": text("SALE#s"), "sk": text("SALE")}})
	for _, c := range []struct {
		name string
		all  *books.Books
		want string
	}{
		{"the whole sale is lost", books.Of(nil), "(P11)"},
		{"a finding of the recount", incomplete, "the CREATE item is missing"},
		{"an answer that the table denies", incomplete, `ann got claim c1, but the table has "" (P4)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &testSale{id: "s", answers: verdict.New(verdict.Sale{})}
			e.answers.Clicked("ann", false, verdict.Span{}, client.Accepted, client.Answer{Claim: client.Claim{ClaimID: "c1"}})
			if found := fmt.Sprint(e.audit(t.Context(), c.all)); !strings.Contains(found, c.want) {
				t.Errorf("found %s, want %q", found, c.want)
			}
		})
	}
}

// fake is a DynamoDB in this process.
type fake struct{ *dynamotest.DB }

func (fake) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	return nil, errors.ErrUnsupported
}

func TestAnEventThatDoesNotComeIsAViolation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, name := fake{dynamotest.New(dynamotest.Table{Name: tableName, PK: "pk", SK: "sk"})}, tableName
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
