package lambda

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestTheRuntimeAPIKeepsItsOrder calls the Runtime API in the wrong order.
func TestTheRuntimeAPIKeepsItsOrder(t *testing.T) {
	s := open(t, Options{}, function(nil))
	p := &process{pool: s.pools["TestFunction"], polled: make(chan struct{}, 1), events: make(chan *invocation, 1), initFailed: make(chan []byte, 1)}
	api := p.runtimeAPI()
	ask := func(method, path, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		api.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "/2018-06-01/runtime/"+path, strings.NewReader(body)))
		return w
	}
	inv := &invocation{event: event{id: "id-1", payload: []byte(`{"n":1}`)}, deadline: time.UnixMilli(1_800_000_000_123), result: make(chan outcome, 1)}

	for _, step := range []struct {
		name, method, path, body string
		before                   func()
		status                   int
		answer                   string
	}{
		{"an answer without an event", "POST", "invocation/id-1/response", `1`, nil, 400, "InvalidRequestID"},
		{"the event", "GET", "invocation/next", "", func() { p.events <- inv }, 200, `{"n":1}`},
		{"another event before the answer", "GET", "invocation/next", "", nil, 403, "InvalidStateTransition"},
		{"an answer to another event", "POST", "invocation/id-2/response", `1`, nil, 400, "InvalidRequestID"},
		{"the answer", "POST", "invocation/id-1/response", `1`, nil, 202, `{"status":"OK"}`},
		{"a second answer", "POST", "invocation/id-1/error", `{}`, nil, 400, "InvalidRequestID"},
		{"an unknown call", "GET", "invocation/previous", "", nil, 404, ""},
		{"the wrong method", "POST", "invocation/next", "", nil, 405, ""},
	} {
		if step.before != nil {
			step.before()
		}
		w := ask(step.method, step.path, step.body)
		if w.Code != step.status || !strings.Contains(w.Body.String(), step.answer) {
			t.Errorf("%s: status %d, body %s, want %d, %s", step.name, w.Code, w.Body, step.status, step.answer)
		}
		if step.path == "invocation/next" && w.Code == http.StatusOK {
			for name, want := range map[string]string{
				"Lambda-Runtime-Aws-Request-Id":       "id-1",
				"Lambda-Runtime-Deadline-Ms":          "1800000000123",
				"Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:us-east-1:000000000000:function:TestFunction",
			} {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
		}
	}
	if out := <-inv.result; string(out.payload) != "1" || out.functionError != "" {
		t.Errorf("result %s, error %q, want 1", out.payload, out.functionError)
	}
}
