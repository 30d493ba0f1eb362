package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/go-cmp/cmp"

	"flashsale/shared/clock"
	"flashsale/shared/invocation"
	"flashsale/shared/sale"
)

// newLog returns a log to a buffer, with a stopped clock.
func newLog(t *testing.T) (*Log, *bytes.Buffer) {
	t.Helper()
	t.Setenv("AWS_LAMBDA_LOG_LEVEL", "")
	out := &bytes.Buffer{}
	return New(out, "purchase", func() time.Time { return time.UnixMilli(1_800_000_000_000) }), out
}

// fieldsOf decodes the one line that was written.
func fieldsOf(t *testing.T, out *bytes.Buffer) map[string]any {
	t.Helper()
	text := out.String()
	if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
		t.Fatalf("%d lines, want one: %.200q", strings.Count(text, "\n"), text)
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatalf("%v: %.200q", err, text)
	}
	return fields
}

func TestAnEventIsOneLineThatSaysWhatHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &bytes.Buffer{}
		l := New(out, "purchase", func() time.Time { return time.UnixMilli(1_800_000_000_042) })
		ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "r-1"})
		//lint:ignore SA1029 the key is Lambda's
		ctx = context.WithValue(ctx, "x-amzn-trace-id", "Root=1-2-3")
		ctx, end := context.WithTimeout(ctx, time.Minute)
		defer end()
		inner, cancel, e := l.Begin(ctx)
		defer cancel()
		whole, _ := ctx.Deadline()
		if until, _ := inner.Deadline(); !until.Equal(whole.Add(-invocation.Margin)) {
			t.Errorf("it ends at %v, the invocation at %v", until, whole)
		}
		time.Sleep(42 * time.Millisecond)
		e.Text("user", "alice")
		e.Int("tries", 2)
		e.List("shards", []map[string]int{{"n": 0}, {"n": 2}})
		e.End("purchase", sale.SoldOut, sale.Refuse(sale.SoldOut, "every unit has been sold"))

		fields := fieldsOf(t, out)
		want := map[string]any{
			"timestamp": "2027-01-15T08:00:00.042Z", "level": "INFO", "message": "purchase", "service": "purchase", "version": sale.ProgramVersion, "requestId": "r-1", "traceId": "Root=1-2-3",
			"coldStart": true, "user": "alice", "tries": 2.0, "shards": []any{map[string]any{"n": 0.0}, map[string]any{"n": 2.0}}, "outcome": "sold-out", "ms": 42.0,
			"dynamodbMs": 0.0, "sqsMs": 0.0,
			"error": "sold-out: every unit has been sold",
		}
		if diff := cmp.Diff(want, fields); diff != "" {
			t.Errorf("line (-want +got):\n%s", diff)
		}
	})
}

// A line with metrics is kept at every level.
func TestTheEnvironmentSaysWhichLevelsAreKept(t *testing.T) {
	for level, want := range map[string]int{"DEBUG": 3, "INFO": 3, "": 3, "nonsense": 3, "WARN": 2, "ERROR": 1} {
		t.Setenv("AWS_LAMBDA_LOG_LEVEL", level)
		out := &bytes.Buffer{}
		l := New(out, "purchase", clock.Wall)
		for _, code := range []sale.Code{"", sale.Busy} {
			_, cancel, e := l.Begin(t.Context())
			e.End("purchase", code, nil)
			cancel()
		}
		_, cancel, e := l.Begin(t.Context())
		e.CountBy("purchases", "result", "accepted")
		e.End("purchase", "", nil)
		cancel()
		if got := strings.Count(out.String(), "\n"); got != want || !strings.Contains(out.String(), `"_aws"`) {
			t.Errorf("at level %q: %d lines, want %d", level, got, want)
		}
	}
}

func TestUserTextNeitherBreaksNorLengthensTheLine(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a newline", "a\nb\r\n", "a\nb\r\n"},
		{"a forged line", "x\"}\n{\"level\":\"ERROR\"", "x\"}\n{\"level\":\"ERROR\""},
		{"a metric", `x","_aws":{"CloudWatchMetrics":[{}]},"y":"`, `x","_aws":{"CloudWatchMetrics":[{}]},"y":"`},
		{"a line separator", "a\u2028b\u2029c", "a\ufffdb\ufffdc"},
		{"an escape sequence", "\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"},
		{"a DEL", "a\x7fb", "a\ufffdb"},
		{"higher controls", "a\u009bb\u0085", "a\ufffdb\ufffd"},
		{"marks that turn and hide text", "a\u202eb\u200bc", "a\ufffdb\ufffdc"},
		{"invalid UTF-8", "a\xffb", "a\ufffdb"},
		{"the longest user id", strings.Repeat("\U0001F377", 128), strings.Repeat("\U0001F377", 128)},
		{"a byte more", strings.Repeat("x", 513), strings.Repeat("x", 512) + "…"},
		{"a cut inside a character", strings.Repeat("用", 200), strings.Repeat("用", 170) + "…"},
		{"a megabyte of continuation bytes", strings.Repeat("\x80", 1<<20), "…"},
	} {
		l, out := newLog(t)
		_, cancel, e := l.Begin(t.Context())
		defer cancel()
		e.Text("user", tt.text)
		e.End("purchase", "", nil)
		if got := fieldsOf(t, out)["user"]; got != tt.want {
			t.Errorf("%s: user = %q, want %q", tt.name, got, tt.want)
		}
		line := strings.TrimSuffix(out.String(), "\n")
		if len(line) > 3500 || !utf8.ValidString(line) || strings.ContainsAny(line, "\x00\x1b\r\n\u2028\u2029") {
			t.Errorf("%s: the line of %d bytes is too long, or no plain text: %q", tt.name, len(line), line)
		}
	}
}

func TestFatalSaysWhyAndEndsTheProcess(t *testing.T) {
	if os.Getenv("FATAL") != "" {
		New(os.Stdout, "seed", clock.Wall).FatalIf(errors.New("TABLE_NAME is not set"))
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = []string{"FATAL=1"}
	text, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
		t.Errorf("the process ended with %v, want status 1", err)
	}
	fields := fieldsOf(t, bytes.NewBuffer(text))
	if fields["level"] != "ERROR" || fields["service"] != "seed" || fields["version"] != sale.ProgramVersion || fields["error"] != "TABLE_NAME is not set" {
		t.Errorf("line %v", fields)
	}
}
