package telemetry

import (
	"bytes"
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"
)

// call makes one call of a client of that service as the SDK does: through the
// stack that the configuration's options have had their way with.
func call(t *testing.T, ctx context.Context, cfg aws.Config, service string, took time.Duration, fault error) error {
	t.Helper()
	stack := middleware.NewStack("PutItem", func() any { return nil })
	metadata := &awsmiddleware.RegisterServiceMetadata{ServiceID: service, OperationName: "PutItem"}
	if err := stack.Initialize.Add(metadata, middleware.Before); err != nil {
		t.Error(err)
	}
	for _, option := range cfg.APIOptions {
		if err := option(stack); err != nil {
			t.Error(err)
		}
	}
	serve := middleware.HandlerFunc(func(context.Context, any) (any, middleware.Metadata, error) {
		time.Sleep(took)
		return nil, middleware.Metadata{}, fault
	})
	_, _, err := middleware.DecorateHandler(serve, stack).Handle(ctx, nil)
	return err
}

func TestTheTimeInEachServiceIsAddedUpAndKeptApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &bytes.Buffer{}
		l, cfg := New(out, "purchase"), Watch(aws.Config{})
		ctx, cancel, e := l.Begin(t.Context())
		defer cancel()
		nested, stop := context.WithTimeout(ctx, time.Minute)
		defer stop()
		call(t, ctx, cfg, "DynamoDB", 5*time.Millisecond, nil)
		if err := call(t, nested, cfg, "DynamoDB", 7*time.Millisecond, io.ErrUnexpectedEOF); err != io.ErrUnexpectedEOF {
			t.Errorf("the stopwatch makes %v of an error", err)
		}
		call(t, nested, cfg, "SQS", 3*time.Millisecond, nil)
		call(t, ctx, cfg, "Lambda", time.Second, nil)
		call(t, t.Context(), cfg, "DynamoDB", time.Second, nil)      // outside of every event
		call(t, ctx, aws.Config{}, "DynamoDB", 100*time.Second, nil) // of a client that nobody watches
		e.End(ctx, "purchase", "", nil)
		fields := fieldsOf(t, out)
		if fields["dynamodbMs"] != 12.0 || fields["sqsMs"] != 3.0 {
			t.Errorf("%v ms in DynamoDB and %v in SQS, want 12 and 3", fields["dynamodbMs"], fields["sqsMs"])
		}
	})
}

func TestCallsSideBySideAreAddedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &bytes.Buffer{}
		l, cfg := New(out, "reconcile"), Watch(aws.Config{})
		ctx, cancel, e := l.Begin(t.Context())
		defer cancel()
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() { call(t, ctx, cfg, "DynamoDB", 10*time.Millisecond, nil) })
		}
		calls.Wait()
		e.End(ctx, "reconcile", "", nil)
		if fields := fieldsOf(t, out); fields["dynamodbMs"] != 200.0 || fields["ms"] != 10.0 {
			t.Errorf("%v ms in DynamoDB in an event of %v ms, want 200 in 10", fields["dynamodbMs"], fields["ms"])
		}
	})
}

func TestWatchingChangesNoOtherConfiguration(t *testing.T) {
	base := aws.Config{APIOptions: make([]func(*middleware.Stack) error, 0, 4)}
	once, twice := Watch(base), Watch(base)
	if len(base.APIOptions) != 0 || len(once.APIOptions) != 1 || len(twice.APIOptions) != 1 {
		t.Errorf("%d, %d and %d options, want 0, 1 and 1", len(base.APIOptions), len(once.APIOptions), len(twice.APIOptions))
	}
	if &once.APIOptions[0] == &twice.APIOptions[0] {
		t.Error("two configurations share their options")
	}
}

func TestAPartIsALineOfItsOwnOfTheSameInvocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &bytes.Buffer{}
		l, cfg := New(out, "reconcile"), Watch(aws.Config{})
		ctx, cancel, e := l.Begin(lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "r-1"}))
		defer cancel()
		e.Text("saleId", "the whole event's own")
		e.Metric("resent", Count, 1)
		time.Sleep(time.Second)
		call(t, ctx, cfg, "DynamoDB", 10*time.Millisecond, nil)

		inner, part := e.Part(ctx)
		call(t, inner, cfg, "DynamoDB", 20*time.Millisecond, nil)
		part.Text("saleId", "moutai")
		part.End(inner, "receipt", "", nil)
		fields := fieldsOf(t, out)
		delete(fields, "timestamp")
		want := map[string]any{
			"level": "INFO", "message": "receipt", "service": "reconcile", "requestId": "r-1", "coldStart": true,
			"saleId": "moutai", "outcome": "ok", "ms": 20.0, "dynamodbMs": 20.0, "sqsMs": 0.0,
		}
		if diff := cmp.Diff(want, fields); diff != "" {
			t.Errorf("line (-want +got):\n%s", diff)
		}

		out.Reset()
		e.End(ctx, "reconcile", "", nil)
		if fields := fieldsOf(t, out); fields["dynamodbMs"] != 30.0 || fields["ms"] != 1030.0 || fields["coldStart"] != true {
			t.Errorf("the whole event's line: %v", fields)
		}
	})
}
