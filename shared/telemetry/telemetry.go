// Package telemetry writes one JSON line per event: what happened, in the codes of
// package sale, how long it took, and its metrics (P18).
//
// It writes Lambda's JSON log format with CloudWatch's embedded metrics, reads the
// invocation's context and times AWS calls. Names and values come from the handlers.
// User text is capped and escaped here; tokens never reach this package.
package telemetry

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/lambdacontext"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"flashsale/shared/invocation"
	"flashsale/shared/sale"
)

const (
	// maxText is the longest user text in a log line, in bytes: any user id is whole, because a
	// lost claim is written again from the line. maxError is the longest error text, enough for
	// any that is not hostile.
	maxText  = sale.MaxUser * utf8.UTFMax
	maxError = 2048
	// Namespace is the metrics' CloudWatch namespace.
	Namespace = "flashsale"
)

// Log writes the events of one function.
type Log struct {
	service string
	stack   string // dimension of the metrics, "" outside a stack
	warm    atomic.Bool
	least   slog.Level // for lines without metrics
	now     func() time.Time

	mu  sync.Mutex // one line at a time
	out io.Writer
}

// New returns a log that writes to w, with one line and one Write per event, for the
// named service. AWS_LAMBDA_LOG_LEVEL (DEBUG, INFO, WARN, ERROR) applies to lines
// without metrics: those with metrics are always written, because a log filter must not
// silence alarms. Lambda also filters by level, so a function's LogLevel must not be
// above INFO. STACK_NAME is a dimension of every metric, so that two stacks in one
// account are counted separately. now returns the current instant; it is used for
// timestamps only, not for durations.
func New(w io.Writer, service string, now func() time.Time) *Log {
	level := slog.LevelInfo
	_ = level.UnmarshalText([]byte(os.Getenv("AWS_LAMBDA_LOG_LEVEL"))) // unset or unknown: INFO
	return &Log{out: w, service: service, stack: os.Getenv("STACK_NAME"), least: level, now: now}
}

// write writes one line, with the member names of Lambda's JSON logging. Write errors
// are ignored: there is nowhere to report them.
func (l *Log) write(now time.Time, level slog.Level, message string, m members) {
	line := make(members, 0, len(m)+128)
	line.text("timestamp", now.UTC().Format("2006-01-02T15:04:05.000Z07:00"))
	line.text("level", level.String())
	line.text("message", message)
	line = append(append(line, m...), "}\n"...)
	line[0] = '{'
	l.mu.Lock()
	_, _ = l.out.Write(line)
	l.mu.Unlock()
}

// members are those of a JSON object as text, each with a comma before it. Names must need no escapes: they are this
// program's own.
type members []byte

func (m *members) name(name string) { m.raw(`,"`, name, `":`) }

func (m *members) raw(parts ...string) {
	for _, part := range parts {
		*m = append(*m, part...)
	}
}

// text adds a string; invalid UTF-8 in it is replaced.
func (m *members) text(name, value string) {
	m.name(name)
	*m, _ = jsontext.AppendQuote(*m, value)
}

func (m *members) int(name string, value int64) {
	m.name(name)
	*m = strconv.AppendInt(*m, value, 10)
}

// FatalIf logs why a function cannot start and ends the process, if there is an error (P19).
func (l *Log) FatalIf(errs ...error) {
	err := errors.Join(errs...)
	if err == nil {
		return
	}
	m := l.named()
	m.text("error", capped(err.Error(), maxError))
	l.write(l.now(), slog.LevelError, "cannot start", m)
	os.Exit(1)
}

// named says which service of which version writes the line.
func (l *Log) named() members {
	m := make(members, 0, 1<<10) // nearly every line is shorter
	m.text("service", l.service)
	m.text("version", sale.ProgramVersion)
	return m
}

// Event is a line being built. It belongs to one goroutine and must not be used after
// End.
type Event struct {
	log       *Log
	stopwatch invocation.Stopwatch
	members   members
	prefix    int // length of the members shared by all events of the invocation
	metrics   []metric
	calls     calls
}

// Run runs one invocation within its time, and writes its line with that message; count adds the
// figures. A panic is an error.
func (l *Log) Run(
	ctx context.Context, message string, do func(context.Context, *Event) error, count func(*Event, sale.Code),
) error {
	ctx, cancel, event := l.Begin(ctx)
	defer cancel()
	err := invocation.Try(func() error { return do(ctx, event) })
	code := sale.CodeOf(err)
	count(event, code)
	event.End(message, code, err)
	return err
}

// Begin starts the event of one invocation, and bounds its context: it ends
// invocation.Margin before the deadline. AWS calls with that context are timed if their
// client's configuration is watched.
func (l *Log) Begin(ctx context.Context) (context.Context, context.CancelFunc, *Event) {
	e := &Event{log: l, stopwatch: invocation.Start(), members: l.named()}
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		e.members.text("requestId", lc.AwsRequestID)
	}
	if trace, ok := ctx.Value("x-amzn-trace-id").(string); ok && trace != "" {
		e.Text("traceId", trace)
	}
	e.members.raw(`,"coldStart":`, strconv.FormatBool(!l.warm.Swap(true)))
	e.prefix = len(e.members)
	ctx, cancel := invocation.Bound(context.WithValue(ctx, callsKey{}, &e.calls))
	return ctx, cancel, e
}

// Part starts a separate event within this one. Calls with its context count for both.
func (e *Event) Part(ctx context.Context) (context.Context, *Event) {
	part := &Event{log: e.log, stopwatch: invocation.Start(), prefix: e.prefix}
	part.members, part.calls.parent = slices.Clone(e.members[:e.prefix]), &e.calls
	return context.WithValue(ctx, callsKey{}, &part.calls), part
}

// Text adds user text, cut to 512 bytes.
func (e *Event) Text(name, value string) {
	e.members.text(name, capped(value, maxText))
}

// capped truncates the text to limit bytes and replaces the characters that JSON leaves
// alone but terminals interpret or hide, or take for a line's end: DEL, C1 controls, bidi marks, U+2028 (P18).
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
		if r >= del && unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return utf8.RuneError
		}
		return r
	}, text)
}

// del is the control character after the printable ones of ASCII.
const del = '\x7f'

// plain reports whether the text is ASCII below DEL, as nearly all texts are.
func plain(text string) bool {
	for i := range len(text) {
		if text[i] >= del {
			return false
		}
	}
	return true
}

// Int adds a number.
func (e *Event) Int(name string, value int) {
	e.members.int(name, int64(value))
}

// List adds an array of this program's own types, which always encode. Its texts are the caller's to check.
func (e *Event) List(name string, list any) {
	text, _ := jsonv2.Marshal(list, jsontext.AllowInvalidUTF8(true))
	e.members.name(name)
	e.members = append(e.members, text...)
}

// End writes the line: message, outcome code ("ok" for none), milliseconds, those spent
// in DynamoDB and in SQS and, if there is one, the error, of a panic with its stack. Unexpected errors are
// logged as ERROR, those that need attention as WARN.
func (e *Event) End(message string, code sale.Code, err error) {
	level := slog.LevelInfo
	switch code {
	case sale.Internal, sale.NewerVersion:
		level = slog.LevelError
	case sale.Busy, sale.Poison, sale.Conflicting:
		level = slog.LevelWarn
	}
	e.members.text("outcome", Outcome(code))
	e.members.int("ms", e.stopwatch.Elapsed().Milliseconds())
	e.members.int("dynamodbMs", time.Duration(e.calls.dynamodb.Load()).Milliseconds())
	e.members.int("sqsMs", time.Duration(e.calls.sqs.Load()).Milliseconds())
	if err != nil {
		e.members.text("error", capped(err.Error(), maxError))
	}
	if p, panicked := errors.AsType[*invocation.Panic](err); panicked {
		e.members.text("stackTrace", p.Stack)
	}
	if len(e.metrics) > 0 || level >= e.log.least {
		now := e.log.now()
		e.embed(now)
		e.log.write(now, level, message, e.members)
	}
}
