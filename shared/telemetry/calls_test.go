package telemetry

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go/logging"
	"github.com/google/go-cmp/cmp"

	"flashsale/shared/clock"
	"flashsale/shared/sale"
)

// server answers after a delay, or never.
type server struct {
	took  time.Duration
	fault error
}

func (s server) RoundTrip(*http.Request) (*http.Response, error) {
	time.Sleep(s.took)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, s.fault
}

// call makes one call of a service, through the configuration's client.
func call(t *testing.T, ctx context.Context, cfg aws.Config, target string) error {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", target)
	_, err = cfg.HTTPClient.Do(r)
	return err
}

// answering returns a watched configuration whose calls take that long.
func answering(took time.Duration, fault error) aws.Config {
	return New(io.Discard, "purchase", clock.Wall).Watch(aws.Config{HTTPClient: &http.Client{Transport: server{took, fault}}})
}

const (
	putItem = "DynamoDB_20120810.PutItem"
	send    = "AmazonSQS.SendMessage"
)

func TestTheTimeInEachServiceIsAddedUpAndKeptApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &bytes.Buffer{}
		l := New(out, "purchase", clock.Wall)
		ctx, cancel, e := l.Begin(t.Context())
		defer cancel()
		nested, stop := context.WithTimeout(ctx, time.Minute)
		defer stop()
		call(t, ctx, answering(5*time.Millisecond, nil), putItem)
		if err := call(t, nested, answering(7*time.Millisecond, io.ErrUnexpectedEOF), putItem); err != io.ErrUnexpectedEOF {
			t.Errorf("the stopwatch makes %v of an error", err)
		}
		call(t, nested, answering(3*time.Millisecond, nil), send)
		call(t, ctx, answering(time.Second, nil), "AWSLambda.Invoke")
		call(t, t.Context(), answering(time.Second, nil), putItem)                                              // outside any event
		call(t, ctx, aws.Config{HTTPClient: &http.Client{Transport: server{took: 100 * time.Second}}}, putItem) // of an unwatched client
		e.End("purchase", "", nil)
		fields := fieldsOf(t, out)
		if fields["dynamodbMs"] != 12.0 || fields["sqsMs"] != 3.0 {
			t.Errorf("%v ms in DynamoDB and %v in SQS, want 12 and 3", fields["dynamodbMs"], fields["sqsMs"])
		}
	})
}

func TestALineOfTheSDKIsBoundedAndFollowsTheLevel(t *testing.T) {
	l, out := newLog(t)
	logger := l.Watch(aws.Config{}).Logger
	logger.Logf(logging.Debug, "request %d", 1)
	if out.Len() != 0 {
		t.Errorf("at level INFO the log has %s", out)
	}
	logger.Logf(logging.Warn, "%s", "a\n{\"level\":\"ERROR\"}\x1b[31m"+strings.Repeat("x", 1<<20))
	fields := fieldsOf(t, out)
	if detail, _ := fields["detail"].(string); fields["level"] != "WARN" || !strings.HasPrefix(detail, "a\n{\"level\"") || out.Len() > 3000 {
		t.Errorf("%d bytes: %.200v", out.Len(), fields)
	}
	t.Setenv("AWS_LAMBDA_LOG_LEVEL", "DEBUG")
	out.Reset()
	New(out, "purchase", clock.Wall).Watch(aws.Config{}).Logger.Logf(logging.Debug, "request %d", 1)
	if fields := fieldsOf(t, out); fields["level"] != "DEBUG" || fields["detail"] != "request 1" {
		t.Errorf("line %v", fields)
	}
}

func TestEveryKindOfClientIsWatched(t *testing.T) {
	for name, client := range map[string]aws.HTTPClient{
		"none": nil, "the SDK's": awshttp.NewBuildableClient(), "a plain one": &http.Client{},
	} {
		host := httptest.NewServer(http.RedirectHandler("/elsewhere", http.StatusTemporaryRedirect))
		base := aws.Config{HTTPClient: client}
		cfg := New(io.Discard, "purchase", clock.Wall).Watch(base)
		if base.HTTPClient != client {
			t.Errorf("%s: the configuration itself has changed", name)
		}
		ctx := context.WithValue(t.Context(), callsKey{}, &calls{})
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, host.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Amz-Target", putItem)
		response, err := cfg.HTTPClient.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusTemporaryRedirect {
			t.Errorf("%s: got %d, want the server's own answer", name, response.StatusCode)
		}
		if callsOf(ctx).dynamodb.Load() <= 0 {
			t.Errorf("%s: the call took no time", name)
		}
		host.Close()
	}
}

func TestAPartIsALineOfItsOwnOfTheSameInvocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &bytes.Buffer{}
		l := New(out, "reconcile", clock.Wall)
		ctx, cancel, e := l.Begin(lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "r-1"}))
		defer cancel()
		e.Text("saleId", "the whole event's own")
		e.Metric("resent", Count, 1)
		time.Sleep(time.Second)
		call(t, ctx, answering(10*time.Millisecond, nil), putItem)

		inner, part := e.Part(ctx)
		call(t, inner, answering(20*time.Millisecond, nil), putItem)
		part.Text("saleId", "moutai")
		part.End("receipt", "", nil)
		fields := fieldsOf(t, out)
		delete(fields, "timestamp")
		want := map[string]any{
			"level": "INFO", "message": "receipt", "service": "reconcile", "version": sale.ProgramVersion, "requestId": "r-1", "coldStart": true,
			"saleId": "moutai", "outcome": "ok", "ms": 20.0, "dynamodbMs": 20.0, "sqsMs": 0.0,
		}
		if diff := cmp.Diff(want, fields); diff != "" {
			t.Errorf("line (-want +got):\n%s", diff)
		}

		out.Reset()
		e.End("reconcile", "", nil)
		if fields := fieldsOf(t, out); fields["dynamodbMs"] != 30.0 || fields["ms"] != 1030.0 || fields["coldStart"] != true {
			t.Errorf("the whole event's line: %v", fields)
		}
	})
}
