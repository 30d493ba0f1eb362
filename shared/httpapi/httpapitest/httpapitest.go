// Package httpapitest invokes a function's handler in a test as Lambda does, with the
// events of the folder events/, and checks what all functions have in common: answers
// and log lines.
package httpapitest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
	"flashsale/shared/telemetry/telemetrytest"
)

// Function is a handler as Lambda calls it, with its log.
type Function struct {
	// Handler is what lambda.NewHandler returns; it logs to Log.
	Handler interface {
		Invoke(context.Context, []byte) ([]byte, error)
	}
	// Service is the function's name in its log, and Counts the metric that counts its events.
	Service, Counts string
	Log             bytes.Buffer
}

// Invoke runs one event, which must log exactly one line of JSON.
func (f *Function) Invoke(t *testing.T, ctx context.Context, event []byte) ([]byte, error) {
	t.Helper()
	f.Log.Reset()
	answer, err := f.Handler.Invoke(ctx, event)
	line := f.Log.Bytes()
	if bytes.Count(line, []byte("\n")) != 1 || !json.Valid(line) {
		t.Errorf("want one JSON line in the log, got %s", line)
	}
	if bytes.Contains(line, []byte("header.claims.signature")) {
		t.Errorf("the token is in the log: %s", line)
	}
	return answer, err
}

// Ask runs one HTTP request, which must never fail the function.
func (f *Function) Ask(t *testing.T, ctx context.Context, request []byte) httpapi.Response {
	t.Helper()
	raw, err := f.Invoke(t, ctx, request)
	if err != nil {
		t.Fatalf("the function failed: %v", err)
	}
	var response httpapi.Response
	if err := json.Unmarshal(raw, &response); err != nil {
		t.Fatal(err)
	}
	return response
}

// Logged returns a field of the last event's line.
func (f *Function) Logged(t *testing.T, name string) any {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(f.Log.Bytes(), &fields); err != nil {
		t.Fatal(err)
	}
	return fields[name]
}

// IsLine checks the last event's whole line, and that it tells no private data. The line is that
// of a cold start, and its event has that outcome, "" if it succeeded; more has what is different
// or comes on top. Of an error more has the start; what is nil in more must be missing. Metrics are
// those beside the one that counts events.
func (f *Function) IsLine(t *testing.T, outcome sale.Code, more map[string]any, metrics map[string]string) {
	t.Helper()
	result := telemetry.Outcome(outcome)
	want := map[string]any{
		"level": "INFO", "message": f.Service, "service": f.Service, "coldStart": true, "outcome": result, "result": result,
		f.Counts: 1.0,
	}
	maps.Copy(want, more)
	counted := map[string]string{f.Counts: "Count by service, result"}
	maps.Copy(counted, metrics)
	line, err := telemetrytest.Parse(f.Log.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(want, func(_ string, value any) bool { return value == nil })
	if start, told := want["error"].(string); told && strings.HasPrefix(fmt.Sprint(line.Fields["error"]), start) {
		want["error"] = line.Fields["error"]
	}
	if diff := line.Diff(want, counted); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
	if told := telemetrytest.Told(f.Log.Bytes()); told != nil {
		t.Errorf("the log tells %q", told)
	}
}

// Change changes a request before it is sent.
type Change = func(*events.APIGatewayV2HTTPRequest)

// Event reads a file of events/ for a handler in functions/*/handler. Changes apply to
// HTTP requests only.
func Event(t *testing.T, name string, changes ...Change) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../../../events", name))
	if err != nil {
		t.Fatal(err)
	}
	if len(changes) == 0 {
		return raw
	}
	var r events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		if change != nil {
			change(&r)
		}
	}
	if raw, err = json.Marshal(r); err != nil {
		t.Fatal(err)
	}
	return raw
}

// User sets the caller of a request.
func User(name string) Change {
	return func(r *events.APIGatewayV2HTTPRequest) { r.RequestContext.Authorizer.JWT.Claims["sub"] = name }
}

// Header sets a header of a request.
func Header(name, value string) Change {
	return func(r *events.APIGatewayV2HTTPRequest) { r.Headers[name] = value }
}

// Path sets a path parameter of a request.
func Path(name, value string) Change {
	return func(r *events.APIGatewayV2HTTPRequest) { r.PathParameters[name] = value }
}

// Refused checks a refusal, which must not be cacheable nor quote an internal error,
// and returns its body.
func Refused(t *testing.T, r httpapi.Response, status int, code sale.Code) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
		t.Fatal(err)
	}
	if r.StatusCode != status || body["code"] != string(code) || body["status"] != float64(status) {
		t.Errorf("%d %s, want %d %s", r.StatusCode, r.Body, status, code)
	}
	if r.Headers.ContentType != "application/problem+json" || r.Headers.CacheControl != "no-store" {
		t.Errorf("headers %v", r.Headers)
	}
	for _, word := range []string{"goroutine", "panic", "Exception", "ledger"} {
		if strings.Contains(r.Body, word) {
			t.Errorf("the body contains %q: %s", word, r.Body)
		}
	}
	return body
}
