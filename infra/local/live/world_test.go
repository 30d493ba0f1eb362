package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
)

const tableName = "Ledger"

// queues have as many messages as the length of their URL.
type queues struct{}

func (queues) GetQueueAttributes(_ context.Context, in *sqs.GetQueueAttributesInput, _ ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error) {
	return &sqs.GetQueueAttributesOutput{Attributes: map[string]string{
		"ApproximateNumberOfMessages": fmt.Sprint(len(*in.QueueUrl)), "ApproximateNumberOfMessagesNotVisible": "1",
	}}, nil
}

// stub is the stack: its API, its functions and what breaks.
type stub struct {
	mu         sync.Mutex
	asked      []string // requests to SeedFunction
	refuses    bool     // SeedFunction
	injections []Injection
}

func (s *stub) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	header, body := http.Header{}, `{}`
	if !strings.HasSuffix(r.URL.Path, "/functions/SeedFunction/invocations") {
		return nil, errors.New("nothing is there: " + r.URL.Path)
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if s.asked = append(s.asked, string(text)); s.refuses {
		header.Set(client.FunctionError, "Unhandled")
		body = `{"errorType":"sale-not-found","errorMessage":"sale-not-found"}`
	}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func (s *stub) Inject(_ context.Context, d Injection) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.injections = append(s.injections, d)
	return nil
}

func (s *stub) Faults() (string, map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return "", map[string]int{"calls": len(s.injections)}
}

// world is a view over a table that the real ledger writes.
type world struct {
	*ledgertest.World
	*View
	stub *stub
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db := dynamotest.New(dynamotest.Table{Name: tableName, PK: "pk", SK: "sk"})
	w := &world{World: ledgertest.NewWorld(t, ledgertest.Engine{API: db, Table: tableName}), stub: &stub{}}
	var err error
	if w.View, err = New(Options{
		Client: client.New("http://127.0.0.1:1", client.Options{Lambda: "http://127.0.0.1:2", Transport: w.stub}),
		DB:     db, Table: tableName, Queues: queues{}, OrderQueue: "four", DeadLetterQueue: "seventh", System: w.stub,
	}); err != nil {
		t.Fatal(err)
	}
	w.View.now = w.World.Now
	return w
}

// run runs the view until the test, or the bubble of its clock, ends.
func (w *world) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.Run(ctx) }()
	return func() { cancel(); <-done }
}
