package faults_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"flashsale/infra/local/faults"
)

// stub is a service that accepts and counts every request. It is both an http.Handler
// and a RoundTripper.
type stub struct{ arrived atomic.Int32 }

func (s *stub) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.arrived.Add(1)
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_, _ = io.WriteString(w, `{"MessageId":"m"}`)
}

func (s *stub) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, r)
	return recorder.Result(), r.Context().Err()
}

// count is how many requests have arrived.
func (s *stub) count() int { return int(s.arrived.Load()) }

func config(t *testing.T, text string) faults.Config {
	t.Helper()
	c, err := faults.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var dummy = credentials.NewStaticCredentialsProvider("local", "local", "")

// tableAt is a client of an endpoint, through a transport (nil: none).
func tableAt(endpoint string, through http.RoundTripper) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: &endpoint, Region: "us-east-1", Credentials: dummy, Retryer: aws.NopRetryer{},
		HTTPClient: &http.Client{Transport: through},
	})
}

func queueAt(endpoint string, through http.RoundTripper) *sqs.Client {
	return sqs.New(sqs.Options{
		BaseEndpoint: &endpoint, Region: "us-east-1", Credentials: dummy, Retryer: aws.NopRetryer{},
		HTTPClient: &http.Client{Transport: through}, DisableMessageChecksumValidation: true,
	})
}

// world is a stub, and clients that reach it through faults.
type world struct {
	*stub
	transport *faults.Transport
	table     *dynamodb.Client
	queue     *sqs.Client
}

// newWorld has no network, so that it may run in virtual time.
func newWorld(t *testing.T, faulty string) world {
	t.Helper()
	s := &stub{}
	tr := &faults.Transport{Base: s, Config: config(t, faulty)}
	return world{s, tr, tableAt("http://127.0.0.1", tr), queueAt("http://127.0.0.1", tr)}
}

// proxied is the same with a proxy in between.
func proxied(t *testing.T, faulty string) world {
	t.Helper()
	s := &stub{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	tr := &faults.Transport{Base: base, Config: config(t, faulty)}
	target, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(faults.Proxy(target, tr))
	t.Cleanup(front.Close)
	return world{s, tr, tableAt(front.URL, base), queueAt(front.URL, base)}
}

var key = map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "a"}}

func (w world) put(t *testing.T) error {
	_, err := w.table.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("T"), Item: key})
	return err
}

func (w world) get(t *testing.T) error {
	_, err := w.table.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("T"), Key: key})
	return err
}

func (w world) execute(t *testing.T) error {
	_, err := w.table.BatchExecuteStatement(t.Context(), &dynamodb.BatchExecuteStatementInput{Statements: []types.BatchStatementRequest{
		{Statement: aws.String(`INSERT INTO "T" VALUE {'pk': 'a'}`)},
	}})
	return err
}

// transact has three actions.
func (w world) transact(t *testing.T) error {
	update := types.TransactWriteItem{Update: &types.Update{TableName: aws.String("T"), Key: key, UpdateExpression: aws.String("SET a = b")}}
	_, err := w.table.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{update, update, update}})
	return err
}

func (w world) send(t *testing.T, body string) error {
	_, err := w.queue.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: aws.String("http://127.0.0.1/0/q"), MessageBody: &body})
	return err
}

func is[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// unanswered reports whether an error is not an answer of the service.
func unanswered(err error) bool {
	return err != nil && !is[smithy.APIError](err)
}

// codes are the reasons of a cancellation.
func codes(err error) []string {
	var cancel *types.TransactionCanceledException
	if !errors.As(err, &cancel) {
		return nil
	}
	var codes []string
	for _, r := range cancel.CancellationReasons {
		codes = append(codes, aws.ToString(r.Code))
	}
	return codes
}

// Every fault is what the SDK makes of the real service's answer, directly and
// through a proxy.
func TestFaultsLookReal(t *testing.T) {
	put := func(w world) error { return w.put(t) }
	get := func(w world) error { return w.get(t) }
	transact := func(w world) error { return w.transact(t) }
	execute := func(w world) error { return w.execute(t) }
	send := func(w world) error { return w.send(t, "a") }
	list := func(w world) error {
		_, err := w.table.ListTables(t.Context(), &dynamodb.ListTablesInput{})
		return err
	}
	succeeds := func(err error) bool { return err == nil }
	cancelled := func(code string) func(error) bool {
		return func(err error) bool { return len(codes(err)) == 3 && slices.Contains(codes(err), code) }
	}
	for _, c := range []struct {
		name, faults, kind string
		do                 func(world) error
		want               func(error) bool
		arrives            int
	}{
		{"a write conflicts", "conflict=1", "conflict", put, is[*types.TransactionConflictException], 0},
		{"a transaction conflicts", "conflict=1", "conflict", transact, cancelled("TransactionConflict"), 0},
		{"a read never conflicts", "conflict=1", "", get, succeeds, 1},
		{"nor does a batch of statements", "conflict=1", "", execute, succeeds, 1},
		{"a call is throttled", "throttle=1", "throttle", get, is[*types.ProvisionedThroughputExceededException], 0},
		{"a transaction is throttled", "throttle=1", "throttle", transact, cancelled("ThrottlingError"), 0},
		{"a server error", "error=1", "error", put, is[*types.InternalServerError], 0},
		{"an answer is lost after the commit", "lost=1", "lost", transact, unanswered, 1},
		{"that of a batch of statements, too", "lost=1", "lost", execute, unanswered, 1},
		{"a read is never late", "late=1", "", get, succeeds, 1},
		{"nothing of DynamoDB's happens to a message", "error=1", "", send, succeeds, 1},
		{"nothing happens to what is not a call of data", "error=1", "", list, succeeds, 1},
	} {
		for between, build := range map[string]func(*testing.T, string) world{"client": newWorld, "proxy": proxied} {
			t.Run(c.name+" in a "+between, func(t *testing.T) {
				w := build(t, c.faults)
				if err := c.do(w); !c.want(err) {
					t.Errorf("got %v", err)
				}
				if got := w.count(); got != c.arrives {
					t.Errorf("%d requests arrived, want %d", got, c.arrives)
				}
				if got := w.transport.Counts(); c.kind != "" && got[c.kind] != 1 {
					t.Errorf("counts are %v, want one %s", got, c.kind)
				}
			})
		}
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
