package faults_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"flashsale/infra/local/faults"
)

// stub is a service that accepts and records every request. It is both an http.Handler
// and a RoundTripper.
type stub struct {
	mu   sync.Mutex
	seen []string // operation and body
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body any // decoded: the SDK writes maps in any order
	_ = json.NewDecoder(r.Body).Decode(&body)
	target := r.Header.Get("X-Amz-Target")
	_, operation, _ := strings.Cut(target, ".")
	s.mu.Lock()
	s.seen = append(s.seen, operation+" "+fmt.Sprint(body))
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	answer := "{}"
	switch operation {
	case "SendMessage":
		answer = `{"MessageId":"m"}`
	case "BatchExecuteStatement":
		// Each statement is answered with its own first parameter.
		var responses []any
		for _, one := range body.(map[string]any)["Statements"].([]any) {
			parameter := one.(map[string]any)["Parameters"].([]any)[0]
			responses = append(responses, map[string]any{"Item": map[string]any{"pk": parameter}})
		}
		text, err := json.Marshal(map[string]any{"Responses": responses})
		if err != nil {
			panic(err) // it was decoded from JSON
		}
		answer = string(text)
	}
	_, _ = io.WriteString(w, answer)
}

func (s *stub) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, r)
	return recorder.Result(), r.Context().Err()
}

// count is how many requests have arrived.
func (s *stub) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen)
}

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

// world is a stub on a port, and clients that reach it through faults.
type world struct {
	*stub
	transport *faults.Transport
	table     *dynamodb.Client
	queue     *sqs.Client
}

func newWorld(t *testing.T, faulty string) world {
	t.Helper()
	s := &stub{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	tr := &faults.Transport{Base: base, Config: config(t, faulty)}
	t.Cleanup(func() { _ = tr.Close() })
	return world{s, tr, tableAt(server.URL, tr), queueAt(server.URL, tr)}
}

// proxied is the same with a proxy in between.
func proxied(t *testing.T, faulty string) world {
	t.Helper()
	w := newWorld(t, faulty)
	server := httptest.NewServer(w.stub)
	t.Cleanup(server.Close)
	target, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(faults.Proxy(target, w.transport))
	t.Cleanup(front.Close)
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	w.table, w.queue = tableAt(front.URL, base), queueAt(front.URL, base)
	return w
}

func key(name string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: name}, "sk": &types.AttributeValueMemberS{Value: "x"},
	}
}

func (w world) put(t *testing.T, name string) error {
	item := key(name)
	item["more"] = &types.AttributeValueMemberN{Value: "1"}
	_, err := w.table.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("T"), Item: item})
	return err
}

func (w world) get(t *testing.T, name string) error {
	_, err := w.table.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("T"), Key: key(name)})
	return err
}

// transact updates the first item, puts the second and checks the others.
func (w world) transact(t *testing.T, names ...string) error {
	var actions []types.TransactWriteItem
	for i, name := range names {
		var a types.TransactWriteItem
		switch i {
		case 0:
			a.Update = &types.Update{TableName: aws.String("T"), Key: key(name), UpdateExpression: aws.String("SET a = b")}
		case 1:
			a.Put = &types.Put{TableName: aws.String("T"), Item: key(name)}
		default:
			a.ConditionCheck = &types.ConditionCheck{TableName: aws.String("T"), Key: key(name), ConditionExpression: aws.String("a = b")}
		}
		actions = append(actions, a)
	}
	_, err := w.table.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: actions})
	return err
}

func (w world) send(t *testing.T, body string) error {
	_, err := w.queue.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: aws.String("http://127.0.0.1/0/q"), MessageBody: &body})
	return err
}
