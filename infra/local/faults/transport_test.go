package faults_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"flashsale/infra/local/faults"
)

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// cancelled is a transaction of three actions that was cancelled, some of them for that reason.
func cancelled(code string) func(error) bool {
	return func(err error) bool {
		cancel, ok := errors.AsType[*types.TransactionCanceledException](err)
		return ok && len(cancel.CancellationReasons) == 3 &&
			slices.ContainsFunc(cancel.CancellationReasons, func(r types.CancellationReason) bool { return aws.ToString(r.Code) == code })
	}
}

// Every fault is what the SDK makes of the real service's answer.
func TestFaultsLookReal(t *testing.T) {
	table, key := aws.String("T"), map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "a"}}
	put := func(c *dynamodb.Client) error {
		_, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: table, Item: key})
		return err
	}
	get := func(c *dynamodb.Client) error {
		_, err := c.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: table, Key: key})
		return err
	}
	transact := func(c *dynamodb.Client) error {
		update := types.TransactWriteItem{Update: &types.Update{TableName: table, Key: key, UpdateExpression: aws.String("SET a = b")}}
		_, err := c.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{update, update, update}})
		return err
	}
	list := func(c *dynamodb.Client) error {
		_, err := c.ListTables(t.Context(), &dynamodb.ListTablesInput{})
		return err
	}
	succeeds := func(err error) bool { return err == nil }
	unanswered := func(err error) bool { return err != nil && !is[smithy.APIError](err) }
	for _, c := range []struct {
		name, faults string
		do           func(*dynamodb.Client) error
		want         func(error) bool
		arrives      int
	}{
		{"a write conflicts", "conflict=1", put, is[*types.TransactionConflictException], 0},
		{"a transaction conflicts", "conflict=1", transact, cancelled("TransactionConflict"), 0},
		{"a read never conflicts", "conflict=1", get, succeeds, 1},
		{"a call is throttled", "throttle=1", get, is[*types.ProvisionedThroughputExceededException], 0},
		{"a transaction is throttled", "throttle=1", transact, cancelled("ThrottlingError"), 0},
		{"a server error", "error=1", put, is[*types.InternalServerError], 0},
		{"an answer is lost after the commit", "lost=1", transact, unanswered, 1},
		{"a read is never late", "late=1", get, succeeds, 1},
		{"nothing happens to what is not a call of data", "error=1", list, succeeds, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			arrived := 0
			engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				arrived++
				_, _ = io.WriteString(w, "{}")
			}))
			defer engine.Close()
			config, err := faults.Parse(c.faults)
			if err != nil {
				t.Fatal(err)
			}
			client := dynamodb.New(dynamodb.Options{
				BaseEndpoint: &engine.URL, Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
				Retryer: aws.NopRetryer{}, HTTPClient: &http.Client{Transport: &faults.Transport{Base: http.DefaultTransport, Config: config}},
			})
			if err := c.do(client); !c.want(err) || arrived != c.arrives {
				t.Errorf("got %v after %d requests, want %d", err, arrived, c.arrives)
			}
		})
	}
}

// answering is a service whose answer is longer than the server's buffer, and a transport that
// looks at the request once more while it answers, as http.Transport does to see that a body is
// no longer than declared.
type answering struct{}

func (answering) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.CopyN(io.Discard, r.Body, r.ContentLength); err != nil {
		return nil, err
	}
	rest := io.MultiReader(strings.NewReader(strings.Repeat("x", 10_000)), again(func() error {
		_, err := r.Body.Read(make([]byte, 1))
		return err
	}), strings.NewReader(strings.Repeat("y", 10_000)))
	return &http.Response{StatusCode: http.StatusOK, ContentLength: -1, Header: http.Header{}, Body: io.NopCloser(rest), Request: r}, nil
}

// again is a reader that reads nothing and ends with the error of a call.
type again func() error

func (a again) Read([]byte) (int, error) { return 0, a() }

func TestALongAnswerIsNotCutOffWhenTheRequestHasBeenRead(t *testing.T) {
	front := httptest.NewServer(faults.Proxy(&url.URL{Scheme: "http", Host: "engine"}, answering{}))
	defer front.Close()
	response, err := http.Post(front.URL, "application/json", strings.NewReader(`{"TableName":"Ledger"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if answer, err := io.ReadAll(response.Body); err != nil || len(answer) != 20_000 {
		t.Errorf("%d bytes of 20,000 (%v)", len(answer), err)
	}
}
