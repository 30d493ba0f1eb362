package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"

	finalize "flashsale/functions/finalize/handler"
	purchase "flashsale/functions/purchase/handler"
	query "flashsale/functions/query/handler"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/telemetry"
)

// benchCase is one outcome of one function.
type benchCase struct {
	name   string
	make   factory
	event  func() []byte
	aws    endpoints
	socket bool // AWS is an HTTP server in this process instead of a stub transport
	status int  // of the answer, 0 if there is none
}

// factory makes a handler as its main.go does.
type factory func(book *ledger.Ledger, queue *orderq.Sender, log *telemetry.Log) any

func newPurchase(b *ledger.Ledger, q *orderq.Sender, log *telemetry.Log) any {
	return httpapi.Serve(purchase.New(b, q, log, clock.Wall).Handle)
}

func newFinalize(b *ledger.Ledger, _ *orderq.Sender, log *telemetry.Log) any {
	return finalize.New(b, log, clock.Wall)
}

func newQuery(b *ledger.Ledger, _ *orderq.Sender, log *telemetry.Log) any {
	return httpapi.Serve(query.New(b, log, clock.Wall).Handle)
}

func cases(tb testing.TB) []benchCase {
	buy, ask := newCrowd(tb, "purchase.json").next, newCrowd(tb, "query-claim.json").next
	accepting := endpoints{getSale: saleAnswer(false), "TransactWriteItems": done()}
	all := []benchCase{
		{name: "purchase-accepted", make: newPurchase, event: buy, aws: accepting, status: 202},
		{name: "purchase-accepted-socket", make: newPurchase, event: buy, aws: accepting, socket: true, status: 202},
		{name: "purchase-duplicate", make: newPurchase, event: buy,
			aws: endpoints{getSale: saleAnswer(false), "TransactWriteItems": takenAnswer()}, status: 409},
		{name: "purchase-sold-out", make: newPurchase, event: buy,
			aws: endpoints{getSale: saleAnswer(true), "GetItem": done()}, status: 409},
		{name: "query-claim", make: newQuery, event: ask, aws: endpoints{getSale: saleAnswer(false),
			"GetItem": answerOf(http.StatusOK, `{"Item":`+claimText(claimKey("alice"), "alice", orderID)+`}`)}, status: 200},
	}
	for _, n := range []int{1, 10, 25} {
		users := make([]string, n)
		for i := range users {
			users[i] = fmt.Sprintf("user-%05d", i)
		}
		batch := batchOf(tb, users)
		c := benchCase{name: fmt.Sprintf("finalize-%d", n), make: newFinalize, event: func() []byte { return batch }, aws: finalizeEndpoints(users)}
		overSocket := c
		overSocket.name, overSocket.socket = c.name+"-socket", true
		all = append(all, c, overSocket)
	}
	return all
}

// invocationTime is PurchaseFunction's timeout.
const invocationTime = 6 * time.Second

// sides are both sides of a case over the same endpoint.
type sides struct {
	handler func() error // one invocation, with event and answer in JSON
	bare    func() error // the same calls only
	calls   []any        // the bare side's: those of the handler in a warm environment
}

func (c benchCase) sides(tb testing.TB) sides {
	for name, value := range map[string]string{
		"TABLE_NAME":           table,
		"ORDER_QUEUE_URL":      queueURL,
		"AWS_LAMBDA_LOG_LEVEL": "INFO",
		// These keep every client away from real AWS.
		"AWS_EC2_METADATA_DISABLED":   "true",
		"AWS_CONFIG_FILE":             os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
		"AWS_CA_BUNDLE":               "", // not possible with a stub client
	} {
		tb.Setenv(name, value)
	}
	endpoint := config.WithHTTPClient(&http.Client{Transport: c.aws})
	if c.socket {
		server := httptest.NewServer(c.aws)
		tb.Cleanup(server.Close)
		endpoint = config.WithBaseEndpoint(server.URL)
	}
	cfg, err := config.LoadDefaultConfig(tb.Context(), endpoint, config.WithRegion("eu-central-1"),
		config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "")))
	if err != nil {
		tb.Fatal(err)
	}
	ctx := lambdacontext.NewContext(tb.Context(), &lambdacontext.LambdaContext{AwsRequestID: "8476a536-e9f4-11e8-9739-2dfe598c3fcd"})
	//lint:ignore SA1029 the key is Lambda's
	ctx = context.WithValue(ctx, "x-amzn-trace-id", "Root=1-6955b905-0a1b2c3d4e5f60718293a4b5;Parent=0a1b2c3d4e5f6071;Sampled=0")

	var seen capture
	watched := c.build(tb, seen.attach(cfg))
	for range 2 {
		seen.take()
		answer, err := watched.Invoke(ctx, c.event())
		if err != nil {
			tb.Fatal(err)
		}
		c.expect(tb, answer)
	}
	calls := seen.take()
	handler, clients := c.build(tb, cfg), newBareClients(cfg)
	// Both sides get the deadline that Lambda gives every invocation.
	return sides{
		handler: func() error {
			ctx, cancel := context.WithTimeout(ctx, invocationTime)
			defer cancel()
			_, err := handler.Invoke(ctx, c.event())
			return err
		},
		bare: func() error {
			ctx, cancel := context.WithTimeout(ctx, invocationTime)
			defer cancel()
			return clients.replay(ctx, calls)
		},
		calls: calls,
	}
}

func (c benchCase) build(tb testing.TB, cfg aws.Config) lambda.Handler {
	// Writing the log line is part of an invocation, even if the line is discarded.
	nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = nowhere.Close() })
	log := telemetry.New(nowhere, "bench", clock.Wall)
	cfg = log.Watch(cfg)
	book, err := ledger.FromEnv(cfg, clock.Wall)
	if err != nil {
		tb.Fatal(err)
	}
	queue, err := orderq.FromEnv(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return lambda.NewHandler(c.make(book, queue, log))
}

// expect checks that the answer is the one that the case is meant to measure.
func (c benchCase) expect(tb testing.TB, answer []byte) {
	var a struct {
		StatusCode        int
		BatchItemFailures []any
		Body              string
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		tb.Fatalf("%.300s: %v", answer, err)
	}
	if a.StatusCode != c.status || len(a.BatchItemFailures) > 0 {
		tb.Fatalf("%s is answered with %.300s, want status %d", c.name, answer, c.status)
	}
}
