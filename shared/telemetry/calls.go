package telemetry

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"flashsale/shared/invocation"
)

// calls is the time that the AWS calls of one event took. It travels in the
// event's context, from where any number of goroutines add to it.
type calls struct {
	dynamodb, sqs atomic.Int64 // nanoseconds
	whole         *calls       // of the event that this one is a part of, or nil
}

type callsKey struct{}

func callsOf(ctx context.Context) *calls {
	c, _ := ctx.Value(callsKey{}).(*calls)
	return c
}

// add adds a call's time. Its target is what the protocol's header says, like
// "DynamoDB_20120810.GetItem".
func (c *calls) add(target string, took time.Duration) {
	for ; c != nil; c = c.whole {
		switch {
		case strings.HasPrefix(target, "DynamoDB_"):
			c.dynamodb.Add(int64(took))
		case strings.HasPrefix(target, "AmazonSQS."):
			c.sqs.Add(int64(took))
		}
	}
}

// Watch returns cfg with a stopwatch for the clients that are made of it: the time
// of each call, from its request's first byte to its answer's header, is added to
// the event in whose context it is made. Calls that run side by side are added up,
// so their sum may be longer than the event.
//
// The clients get the configuration's transport without the http.Client around it:
// AWS sends no cookie and no redirect that should be followed, and the ledger and
// the queue bound the time of each call themselves.
func Watch(cfg aws.Config) aws.Config {
	cfg.HTTPClient = stopwatch{transportOf(cfg.HTTPClient)}
	return cfg
}

func transportOf(client aws.HTTPClient) http.RoundTripper {
	switch c := client.(type) {
	case nil:
		return awshttp.NewBuildableClient().GetTransport()
	case *awshttp.BuildableClient:
		return c.GetTransport()
	case *http.Client:
		if c.Transport != nil {
			return c.Transport
		}
		return http.DefaultTransport
	}
	return whole{client}
}

// whole is a client of a kind that cannot be taken apart.
type whole struct{ aws.HTTPClient }

// RoundTrip implements http.RoundTripper.
func (w whole) RoundTrip(r *http.Request) (*http.Response, error) { return w.Do(r) }

type stopwatch struct{ transport http.RoundTripper }

// Do implements aws.HTTPClient.
func (s stopwatch) Do(r *http.Request) (*http.Response, error) {
	c := callsOf(r.Context())
	if c == nil {
		return s.transport.RoundTrip(r)
	}
	call := invocation.Start()
	defer func() { c.add(r.Header.Get("X-Amz-Target"), call.Elapsed()) }()
	return s.transport.RoundTrip(r)
}
