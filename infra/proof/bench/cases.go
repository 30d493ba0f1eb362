package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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
	name       string
	handler    func() error // one invocation, with event and answer in JSON
	bare       func() error // the same calls only; nil if a warm invocation makes none
	operations int          // in one round: enough for many garbage collections
	status     int          // of the answer, 0 if there is none
	// calls are the bare side's calls.
	calls []any
}

// invocationTime is PurchaseFunction's timeout.
const invocationTime = 6 * time.Second

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

// cases returns all cases. Log lines go to log; root is the repository; clean releases
// their resources.
func cases(ctx context.Context, root string, log io.Writer) (all []*benchCase, clean func(), err error) {
	requests := map[string]*crowd{}
	for _, name := range []string{"purchase.json", "query-claim.json"} {
		text, err := envelope(root, name)
		if err != nil {
			return nil, nil, err
		}
		if requests[name], err = newCrowd(text); err != nil {
			return nil, nil, err
		}
	}
	accepting := endpoints{getSale: saleAnswer(false), "TransactWriteItems": done()}
	inMemory := func(e endpoints) func(*config.LoadOptions) error {
		return config.WithHTTPClient(&http.Client{Transport: e})
	}
	var servers []*httptest.Server
	clean = func() {
		for _, s := range servers {
			s.Close()
		}
	}
	overSocket := func(e endpoints) func(*config.LoadOptions) error {
		servers = append(servers, httptest.NewServer(e))
		return config.WithBaseEndpoint(servers[len(servers)-1].URL)
	}
	buy, ask := requests["purchase.json"].next, requests["query-claim.json"].next

	type plan struct {
		benchCase
		make     factory
		event    func() []byte
		endpoint func(*config.LoadOptions) error
	}
	plans := []plan{
		{benchCase{name: "purchase-accepted", operations: 1800, status: 202}, newPurchase, buy, inMemory(accepting)},
		{benchCase{name: "purchase-accepted-socket", operations: 800, status: 202}, newPurchase, buy, overSocket(accepting)},
		{benchCase{name: "purchase-duplicate", operations: 1800, status: 409}, newPurchase, buy,
			inMemory(endpoints{getSale: saleAnswer(false), "TransactWriteItems": takenAnswer()})},
		{benchCase{name: "purchase-sold-out", operations: 4000, status: 409}, newPurchase, buy,
			inMemory(endpoints{getSale: saleAnswer(true), "GetItem": answerOf(http.StatusOK, `{}`)})},
		{benchCase{name: "query-claim", operations: 2400, status: 200}, newQuery, ask,
			inMemory(endpoints{getSale: saleAnswer(false), "GetItem": answerOf(http.StatusOK, `{"Item":`+claimText(claimKey("alice"), "alice", orderID)+`}`)})},
	}
	for _, n := range []int{1, 10, 25} {
		users := make([]string, n)
		for i := range users {
			users[i] = fmt.Sprintf("user-%05d", i)
		}
		batch, err := batchOf(root, users)
		if err != nil {
			clean()
			return nil, nil, err
		}
		name, next, confirming := fmt.Sprintf("finalize-%d", n), func() []byte { return batch }, finalizeEndpoints(users)
		plans = append(plans,
			plan{benchCase{name: name, operations: 6000 / (n + 3)}, newFinalize, next, inMemory(confirming)},
			plan{benchCase{name: name + "-socket", operations: 3000 / (n + 3)}, newFinalize, next, overSocket(confirming)})
	}
	for _, p := range plans {
		c := p.benchCase
		if err := c.prepare(ctx, p.make, p.event, p.endpoint, log); err != nil {
			clean()
			return nil, nil, fmt.Errorf("prepare %s: %w", c.name, err)
		}
		all = append(all, &c)
	}
	return all, clean, nil
}

// prepare makes both sides over the same endpoint. The bare side's calls are those of
// the handler in a warm environment.
func (c *benchCase) prepare(
	ctx context.Context, make factory, event func() []byte, endpoint func(*config.LoadOptions) error, log io.Writer,
) error {
	cfg, err := config.LoadDefaultConfig(ctx, endpoint, config.WithRegion("eu-central-1"),
		config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "")))
	if err != nil {
		return err
	}
	ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: "8476a536-e9f4-11e8-9739-2dfe598c3fcd"})
	//lint:ignore SA1029 the key is Lambda's
	ctx = context.WithValue(ctx, "x-amzn-trace-id", "Root=1-6955b905-0a1b2c3d4e5f60718293a4b5;Parent=0a1b2c3d4e5f6071;Sampled=0")

	var seen capture
	watched, err := build(seen.attach(cfg), make, log)
	if err != nil {
		return err
	}
	for range 2 {
		seen.take()
		answer, err := watched.Invoke(ctx, event())
		if err != nil {
			return err
		}
		if err := c.expect(answer); err != nil {
			return err
		}
	}
	c.calls = seen.take()

	handler, err := build(cfg, make, log)
	if err != nil {
		return err
	}
	// Both sides get the deadline that Lambda gives every invocation.
	c.handler = func() error {
		ctx, cancel := context.WithTimeout(ctx, invocationTime)
		defer cancel()
		_, err := handler.Invoke(ctx, event())
		return err
	}
	if len(c.calls) > 0 {
		clients := newBareClients(cfg)
		c.bare = func() error {
			ctx, cancel := context.WithTimeout(ctx, invocationTime)
			defer cancel()
			return clients.replay(ctx, c.calls)
		}
	}
	return nil
}

func build(cfg aws.Config, make factory, out io.Writer) (lambda.Handler, error) {
	log := telemetry.New(out, "bench", clock.Wall)
	cfg = log.Watch(cfg)
	book, err := ledger.FromEnv(cfg, clock.Wall)
	if err != nil {
		return nil, err
	}
	queue, err := orderq.FromEnv(cfg)
	if err != nil {
		return nil, err
	}
	return lambda.NewHandler(make(book, queue, log)), nil
}

// expect checks that the answer is the one that the case is meant to measure.
func (c *benchCase) expect(answer []byte) error {
	var a struct {
		StatusCode        int
		BatchItemFailures []any
		Body              string
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if a.StatusCode != c.status || len(a.BatchItemFailures) > 0 {
		return fmt.Errorf("read answer: %.300s", answer)
	}
	return nil
}
