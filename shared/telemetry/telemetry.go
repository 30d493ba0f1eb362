// Package telemetry is one JSON line per event: what happened, in the words of
// package sale, how long it took, and the metrics that belong to it (P18).
//
// A line in here knows slog, CloudWatch's embedded metric format, the invocation
// it stands in and the seam at which the AWS clients can be timed. It knows no
// business: names and values come from the handlers. User text is capped here and escaped by the JSON encoder; tokens
// never reach it.
package telemetry

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"flashsale/shared/sale"
)

const (
	// Margin is what a handler keeps of its deadline to answer by itself: the
	// context's deadline is the instant at which Lambda kills it (P16).
	Margin = 500 * time.Millisecond
	// maxText is the longest user text in a log line, in bytes; maxError the
	// longest error, whose cause is kept whole for any but a hostile one.
	maxText  = 128
	maxError = 2048
	// Namespace is where CloudWatch files the metrics.
	Namespace = "flashsale"
)

// Log writes the events of one function.
type Log struct {
	out     *slog.Logger
	service string
	warm    atomic.Bool
	least   slog.Level // of the lines without metrics
	now     func() time.Time
}

// New writes to w, one line per event, for the service of that name. The
// environment's AWS_LAMBDA_LOG_LEVEL (DEBUG, INFO, WARN, ERROR) is honoured for
// lines without metrics: those with metrics are always written, because a filter
// of log lines must not silence alarms. Lambda itself filters by the line's level,
// too, so a function's LogLevel must not be above INFO.
func New(w io.Writer, service string) *Log {
	level := slog.LevelInfo
	_ = level.UnmarshalText([]byte(os.Getenv("AWS_LAMBDA_LOG_LEVEL"))) // unset or unknown: INFO
	handler := slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: lambdaNames})
	return &Log{out: slog.New(handler), service: service, least: level, now: time.Now}
}

// lambdaNames renames slog's keys to those that Lambda's JSON logging reads.
func lambdaNames(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 {
		switch a.Key {
		case slog.TimeKey:
			a.Key = "timestamp"
		case slog.MessageKey:
			a.Key = "message"
		}
	}
	return a
}

// Fatal logs why a function cannot start and ends the process (P19).
func (l *Log) Fatal(err error) {
	l.out.Error("cannot start", slog.String("service", l.service), slog.String("error", err.Error()))
	os.Exit(1)
}

// Event is one line in the making. It belongs to one goroutine.
type Event struct {
	log        *Log
	began      time.Time
	attrs      []slog.Attr
	known      int // attributes that tell the invocation
	directives []directive
	calls      calls
}

// Begin starts the event of one invocation, and bounds its context: it ends
// Margin before the deadline. AWS calls made with the context are timed, if their
// client is made of a watched configuration.
func (l *Log) Begin(ctx context.Context) (context.Context, context.CancelFunc, *Event) {
	e := &Event{log: l, began: l.now(), attrs: make([]slog.Attr, 0, 20)}
	e.attrs = append(e.attrs, slog.String("service", l.service))
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		e.attrs = append(e.attrs, slog.String("requestId", lc.AwsRequestID))
	}
	if trace, ok := ctx.Value("x-amzn-trace-id").(string); ok && trace != "" {
		e.Text("traceId", trace)
	}
	e.attrs = append(e.attrs, slog.Bool("coldStart", !l.warm.Swap(true)))
	e.known = len(e.attrs)
	deadline, ok := ctx.Deadline()
	ctx = context.WithValue(ctx, callsKey{}, &e.calls)
	if !ok {
		ctx, cancel := context.WithCancel(ctx)
		return ctx, cancel, e
	}
	ctx, cancel := context.WithDeadline(ctx, deadline.Add(-Margin))
	return ctx, cancel, e
}

// Part starts an event of its own within this one, of the same invocation. What
// is called with its context counts for both.
func (e *Event) Part(ctx context.Context) (context.Context, *Event) {
	part := &Event{log: e.log, began: e.log.now(), attrs: append(make([]slog.Attr, 0, 20), e.attrs[:e.known]...)}
	part.known, part.calls.whole = e.known, &e.calls
	return context.WithValue(ctx, callsKey{}, &part.calls), part
}

// Text adds user text, cut to 128 bytes.
func (e *Event) Text(name, value string) {
	e.attrs = append(e.attrs, slog.String(name, capped(value, maxText)))
}

// capped is the text cut to limit bytes, without what JSON leaves as it is though a
// terminal obeys it or a reader cannot see it: DEL, the higher controls, and the
// marks that turn or hide text (P18).
func capped(text string, limit int) string {
	if len(text) > limit {
		for limit > 0 && !utf8.RuneStart(text[limit]) {
			limit--
		}
		text = text[:limit] + "…"
	}
	if plain(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r > '~' && unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return utf8.RuneError
		}
		return r
	}, text)
}

// plain reports whether the text is ASCII below DEL, as nearly all is.
func plain(text string) bool {
	for i := range len(text) {
		if text[i] > '~' {
			return false
		}
	}
	return true
}

// Int adds a number.
func (e *Event) Int(name string, value int) {
	e.attrs = append(e.attrs, slog.Int(name, value))
}

// End writes the line: message, outcome code ("ok" for none), milliseconds, those
// of them spent in DynamoDB and in SQS and, if there is one, the error. A foreign
// or unexpected error is logged as ERROR, one that needs an eye as WARN.
func (e *Event) End(ctx context.Context, message string, code sale.Code, err error) {
	level := slog.LevelInfo
	switch code {
	case sale.Internal:
		level = slog.LevelError
	case sale.Busy, sale.Poison, sale.Conflicting:
		level = slog.LevelWarn
	}
	now := e.log.now()
	e.attrs = append(e.attrs, slog.String("outcome", Outcome(code)), slog.Int64("ms", now.Sub(e.began).Milliseconds()),
		slog.Int64("dynamodbMs", time.Duration(e.calls.dynamodb.Load()).Milliseconds()),
		slog.Int64("sqsMs", time.Duration(e.calls.sqs.Load()).Milliseconds()))
	if err != nil {
		e.attrs = append(e.attrs, slog.String("error", capped(err.Error(), maxError)))
	}
	if len(e.directives) > 0 {
		e.attrs = append(e.attrs, e.embedded(now))
	} else if level < e.log.least {
		return
	}
	e.log.out.LogAttrs(ctx, level, message, e.attrs...)
}
