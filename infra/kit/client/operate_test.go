package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	aChange = OperatorRequest{Method: "POST", Route: "/operate/sales/{saleId}/changes", Path: map[string]string{"saleId": "moutai"}, Body: `{"id":"x","action":"pause"}`}
	aBuyer  = OperatorRequest{Method: "GET", Route: "/operate/sales/{saleId}/buyers/{user}", Path: map[string]string{"saleId": "moutai", "user": "a/b c%?#"}, Query: map[string]string{"drained": "1"}}
)

func TestWhatAnOperatorSendsByInvoke(t *testing.T) {
	var asked []byte
	answer, failed := "", ""
	o := Operator{Actor: "arn:aws:iam::1:user/ada", Client: New("http://127.0.0.1:1", Options{Invoke: func(_ context.Context, function string, payload []byte) (Answer, error) {
		if function != OperateFunction {
			t.Errorf("%s was invoked", function)
		}
		asked = payload
		header := http.Header{}
		if failed != "" {
			header.Set(FunctionError, failed)
		}
		return Read(200, header, []byte(answer)), nil
	}})}
	answer = `{"statusCode":503,"headers":{"Retry-After":"2"},"body":"{\"code\":\"busy\"}"}`
	a, err := o.Operate(t.Context(), aBuyer)
	if err != nil || a.Status != 503 || a.Code != "busy" || a.RetryAfter.Seconds() != 2 {
		t.Errorf("%v, %v", a, err)
	}
	var event map[string]any
	if err := json.Unmarshal(asked, &event); err != nil {
		t.Fatal(err)
	}
	const path = "/operate/sales/moutai/buyers/a%2Fb%20c%25%3F%23"
	want := map[string]any{
		"version": "2.0", "routeKey": "GET /operate/sales/{saleId}/buyers/{user}", "rawPath": path, "rawQueryString": "drained=1",
		"headers":        map[string]any{"content-type": "application/json"},
		"pathParameters": map[string]any{"saleId": "moutai", "user": "a/b c%?#"}, "queryStringParameters": map[string]any{"drained": "1"},
		"requestContext": map[string]any{
			"authorizer": map[string]any{"asTold": map[string]any{"actor": "arn:aws:iam::1:user/ada"}},
			"http":       map[string]any{"method": "GET", "path": path},
		},
		"body": "", "isBase64Encoded": false,
	}
	if diff := cmp.Diff(want, event); diff != "" {
		t.Errorf("the event (-want +got):\n%s", diff)
	}
	answer, failed = `{"errorType":"Sandbox.Timedout","errorMessage":"timed out"}`, "Unhandled"
	if a, err := o.Operate(t.Context(), aChange); err != nil || a.Status != http.StatusInternalServerError || a.Code != "" || !strings.Contains(a.String(), "timed out") {
		t.Errorf("a function that failed: %v, %v", a, err)
	}
	answer, failed = `{"saleId":"moutai"}`, ""
	if a, err := o.Operate(t.Context(), aChange); err == nil {
		t.Errorf("an answer of another kind: %v", a)
	}
	o.Client = New("http://127.0.0.1:1", Options{Invoke: func(context.Context, string, []byte) (Answer, error) { return Answer{}, context.Canceled }})
	if _, err := o.Operate(t.Context(), aChange); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}
