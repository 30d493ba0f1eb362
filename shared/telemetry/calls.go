package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go/logging"

	"flashsale/shared/invocation"
)

// calls is the time that the AWS calls of one event took. It is stored in the event's
// context; any number of goroutines may add to it.
type calls struct {
	dynamodb, sqs atomic.Int64 // nanoseconds
	parent        *calls       // of the enclosing event, or nil
}

type callsKey struct{}

func callsOf(ctx context.Context) *calls {
	c, _ := ctx.Value(callsKey{}).(*calls)
	return c
}

// add adds a call's time. target is the protocol header, like
// "DynamoDB_20120810.GetItem".
func (c *calls) add(target string, took time.Duration) {
	for ; c != nil; c = c.parent {
		switch {
		case strings.HasPrefix(target, "DynamoDB_"):
			c.dynamodb.Add(int64(took))
		case strings.HasPrefix(target, "AmazonSQS."):
			c.sqs.Add(int64(took))
		}
	}
}

// Watch returns cfg with a stopwatch for its clients: the time of each call, from its
// request's first byte to its answer's header, is added to the event in the call's
// context. Calls that run side by side are added up, so their sum may be longer than
// the event. The SDK's own log messages become JSON lines of this log.
//
// The clients get the configuration's transport without the http.Client around it: AWS
// sends no cookies and no redirects to follow, and the ledger and the queue bound the
// time of each call themselves.
func (l *Log) Watch(cfg aws.Config) aws.Config {
	cfg.Logger = sdkLogger{l}
	cfg.HTTPClient = stopwatch{transportOf(cfg.HTTPClient)}
	return cfg
}

// sdkLogger is the log as the SDK sees it.
type sdkLogger struct{ log *Log }

// Logf implements logging.Logger. The SDK logs only warnings unless a ClientLogMode is
// set. Never set one that logs headers or bodies: they contain signatures and users.
func (s sdkLogger) Logf(class logging.Classification, format string, values ...any) {
	level := slog.LevelWarn
	if class == logging.Debug {
		level = slog.LevelDebug
	}
	if level < s.log.least {
		return
	}
	m := s.log.named()
	m.text("detail", capped(fmt.Sprintf(format, values...), maxError))
	s.log.write(s.log.now(), level, "AWS SDK", m)
}

// transportOf returns the transport of a client, or of the one that the SDK would make: its
// configuration has a client only for what the environment sets, as AWS_CA_BUNDLE.
func transportOf(client aws.HTTPClient) http.RoundTripper {
	switch c := client.(type) {
	case nil:
		return awshttp.NewBuildableClient().GetTransport()
	case *http.Client:
		return cmp.Or(c.Transport, http.DefaultTransport)
	}
	return client.(*awshttp.BuildableClient).GetTransport()
}

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
