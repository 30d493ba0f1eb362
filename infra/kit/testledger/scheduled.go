package testledger

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/telemetry/telemetrytest"
)

// Scheduled is a world with the log of a function that a schedule invokes.
type Scheduled struct {
	*World
	Log bytes.Buffer
}

// Invoke invokes such a function as Lambda does, with the given time.
func Invoke[Answer any](w *Scheduled, handle func(context.Context, json.RawMessage) (Answer, error), payload string, timeout time.Duration) (answer Answer, err error) {
	w.T.Helper()
	w.Within(timeout, func(ctx context.Context) {
		var out []byte
		if out, err = lambda.NewHandler(handle).Invoke(ctx, []byte(payload)); err != nil {
			return
		}
		if bad := json.Unmarshal(out, &answer); bad != nil {
			w.T.Fatalf("answer %s: %v", out, bad)
		}
	})
	return answer, err
}

// Lines returns the log's lines since the last call, by the texts of those members.
func (w *Scheduled) Lines(members ...string) map[string]telemetrytest.Line {
	w.T.Helper()
	all, err := telemetrytest.ByName(&w.Log, members...)
	if err != nil {
		w.T.Error(err)
	}
	return all
}

// IsLine checks a line of a cold start that says that all is well; more is what it has besides.
func (w *Scheduled) IsLine(line telemetrytest.Line, service, message string, more map[string]any, metrics map[string]string) {
	w.T.Helper()
	want := map[string]any{"level": "INFO", "message": message, "service": service, "coldStart": true, "outcome": "ok"}
	maps.Copy(want, more)
	if diff := line.Diff(want, metrics); diff != "" {
		w.T.Errorf("%s (-want +got):\n%s", message, diff)
	}
}

// OneFails lists, by name, the ways in which the calls for one sale fail while others succeed.
var OneFails = map[string]func(dynamotest.Call) dynamotest.Fault{
	"throttled": func(dynamotest.Call) dynamotest.Fault { return dynamotest.Fault{Kind: dynamotest.Throttle} },
	"a panic":   func(dynamotest.Call) dynamotest.Fault { panic("a bug") },
}

// BusyFor throttles the calls of that operation on items that have that text in their key,
// until the time has passed.
func (w *World) BusyFor(d time.Duration, op, key string) {
	until := time.Now().Add(d)
	w.DB.Fault = dynamotest.On(op, key, func(dynamotest.Call) dynamotest.Fault {
		if time.Now().Before(until) {
			return dynamotest.Fault{Kind: dynamotest.Throttle}
		}
		return dynamotest.Fault{}
	})
}
