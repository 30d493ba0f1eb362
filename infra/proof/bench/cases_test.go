package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
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
	name  string
	event func() []byte
	aws   endpoints
	// make makes the handler as its main.go does.
	make func(book *ledger.Ledger, queue *orderq.Sender, log *telemetry.Log) any
	// want is what the answer contains that the case is meant to measure.
	want string
}

// accepted is what the answer to a purchase contains.
const accepted = `"statusCode":202`

func cases(tb testing.TB) []benchCase {
	buy := func(book *ledger.Ledger, queue *orderq.Sender, log *telemetry.Log) any {
		return httpapi.Serve(purchase.New(book, queue, log, clock.Wall).Handle)
	}
	ask := func(book *ledger.Ledger, _ *orderq.Sender, log *telemetry.Log) any {
		return httpapi.Serve(query.New(book, log, clock.Wall).Handle)
	}
	all := []benchCase{
		{name: "purchase-accepted", event: crowd(tb, "purchase.json"), aws: accepting(), make: buy, want: accepted},
		{name: "purchase-duplicate", event: crowd(tb, "purchase.json"), aws: refusing(), make: buy, want: "already-ordered"},
		{name: "purchase-sold-out", event: crowd(tb, "purchase.json"), aws: soldOut(), make: buy, want: "sold-out"},
		{name: "query-claim", event: crowd(tb, "query-claim.json"), aws: holding(), make: ask, want: "CONFIRMED"},
	}
	for _, n := range []int{1, 10, 25} {
		batch := batchOf(tb, n)
		all = append(all, benchCase{
			name: fmt.Sprintf("finalize-%d", n), event: func() []byte { return batch }, aws: finalizing(n), want: `"batchItemFailures":[]`,
			make: func(book *ledger.Ledger, _ *orderq.Sender, log *telemetry.Log) any {
				return finalize.New(book, log, clock.Wall)
			},
		})
	}
	return all
}

// sides returns both sides of a case, over the same endpoint: one invocation of the handler, with
// event and answer in JSON, and only the calls that it makes in a warm environment.
func (c benchCase) sides(tb testing.TB) (handler, bare func() error) {
	for name, value := range map[string]string{"TABLE_NAME": table, "ORDER_QUEUE_URL": queueURL, "AWS_LAMBDA_LOG_LEVEL": "INFO"} {
		tb.Setenv(name, value)
	}
	server := httptest.NewServer(c.aws)
	tb.Cleanup(server.Close)
	cfg := aws.Config{
		Region: "eu-central-1", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", ""),
	}
	ctx := lambdacontext.NewContext(tb.Context(), &lambdacontext.LambdaContext{AwsRequestID: "8476a536-e9f4-11e8-9739-2dfe598c3fcd"})
	//lint:ignore SA1029 the key is Lambda's
	ctx = context.WithValue(ctx, "x-amzn-trace-id", "Root=1-6955b905-0a1b2c3d4e5f60718293a4b5;Parent=0a1b2c3d4e5f6071;Sampled=0")

	var seen capture
	watched := c.build(tb, seen.attach(cfg))
	for range 2 {
		seen.inputs = nil
		if answer, err := watched.Invoke(ctx, c.event()); err != nil || !bytes.Contains(answer, []byte(c.want)) {
			tb.Fatalf("%s is answered with %.300s (%v), want %s", c.name, answer, err, c.want)
		}
	}
	// Both sides get the deadline that Lambda gives every invocation.
	invocation := func(run func(context.Context) error) func() error {
		return func() error {
			ctx, cancel := context.WithTimeout(ctx, 6*time.Second)
			defer cancel()
			return run(ctx)
		}
	}
	measured, clients := c.build(tb, cfg), newBareClients(cfg)
	handler = invocation(func(ctx context.Context) error {
		_, err := measured.Invoke(ctx, c.event())
		return err
	})
	return handler, invocation(func(ctx context.Context) error { return clients.replay(ctx, seen.inputs) })
}

func (c benchCase) build(tb testing.TB, cfg aws.Config) lambda.Handler {
	// Writing the log line is part of an invocation, even if the line is discarded.
	nowhere, openErr := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	tb.Cleanup(func() { _ = nowhere.Close() })
	log := telemetry.New(nowhere, "bench", clock.Wall)
	cfg = log.Watch(cfg)
	book, bookErr := ledger.FromEnv(cfg, clock.Wall)
	queue, queueErr := orderq.FromEnv(cfg)
	if err := errors.Join(openErr, bookErr, queueErr); err != nil {
		tb.Fatal(err)
	}
	return lambda.NewHandler(c.make(book, queue, log))
}
