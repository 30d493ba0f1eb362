package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// fakeInvoker records what it was invoked with.
type fakeInvoker struct {
	response      string
	functionError string
	err           error

	mu        sync.Mutex
	functions []string
	payloads  [][]byte
}

func (f *fakeInvoker) Invoke(_ context.Context, function string, payload []byte) ([]byte, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.functions = append(f.functions, function)
	f.payloads = append(f.payloads, payload)
	return []byte(f.response), f.functionError, f.err
}

// event decodes the last payload as a function does.
func (f *fakeInvoker) event(t *testing.T) events.APIGatewayV2HTTPRequest {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.payloads) == 0 {
		t.Fatal("the function was not invoked")
	}
	var e events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(f.payloads[len(f.payloads)-1], &e); err != nil {
		t.Fatalf("decode event: %v", err)
	}
	return e
}

func newGateway(routes []Route, invoker Invoker, o Options) http.Handler {
	if o.Now == nil {
		o.Now = testNow
	}
	return New(routes, invoker, o)
}

// request makes a request with headers, which are names and values in turn.
func request(method, target, body string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Add(pair[0], pair[1])
	}
	return r
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// wantMessage checks an answer that the gateway gives itself.
func wantMessage(t *testing.T, w *httptest.ResponseRecorder, status int, message string) {
	t.Helper()
	if want := `{"message":"` + message + `"}`; w.Code != status || w.Body.String() != want {
		t.Errorf("answer %d %s, want %d %s", w.Code, w.Body, status, want)
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("content type is %q, want application/json", got)
	}
	if w.Header().Get("Apigw-Requestid") == "" {
		t.Error("the answer has no apigw-requestid")
	}
}

// throttled is the error of a function without concurrency.
type throttled struct{ error }

func (throttled) Throttled() bool { return true }

func TestFailuresOfTheFunction(t *testing.T) {
	for _, c := range []struct {
		name    string
		invoker *fakeInvoker
		status  int
		message string
		logged  bool
	}{
		{"a function error is an internal server error", &fakeInvoker{functionError: "Unhandled", response: `{"statusCode":200,"body":"secret"}`}, 500, "Internal Server Error", true},
		{"a function that cannot be run is unavailable", &fakeInvoker{err: errors.New("broken: secret")}, 503, "Service Unavailable", true},
		{"so is one without concurrency, without a log line each", &fakeInvoker{err: fmt.Errorf("invoke: %w", throttled{errors.New("secret")})}, 503, "Service Unavailable", false},
	} {
		var log bytes.Buffer
		h := newGateway(routes("GET /"), c.invoker, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		wantMessage(t, serve(h, request("GET", "/", "")), c.status, c.message)
		if logged := strings.Contains(log.String(), "secret"); logged != c.logged {
			t.Errorf("%s: the log says why: %t, want %t: %s", c.name, logged, c.logged, &log)
		}
	}
}

func TestBodiesThatFitLambdasEventPass(t *testing.T) {
	h := newGateway(routes("POST /"), &fakeInvoker{response: `{"statusCode":200}`}, Options{})
	for _, c := range []struct {
		name string
		body string
		want int
	}{
		{"with room for the rest of the event", strings.Repeat("x", maxEventBytes-10_000), http.StatusOK},
		{"without", strings.Repeat("x", maxEventBytes), http.StatusRequestEntityTooLarge},
		{"as Base64 without", strings.Repeat("\xff", maxEventBytes-10_000), http.StatusRequestEntityTooLarge},
		{"larger than the event", strings.Repeat("x", maxEventBytes+1), http.StatusRequestEntityTooLarge},
	} {
		if w := serve(h, request("POST", "/", c.body)); w.Code != c.want {
			t.Errorf("%s: answer %d %s, want %d", c.name, w.Code, w.Body, c.want)
		}
	}
	broken := httptest.NewRequest(http.MethodPost, "/", io.MultiReader(strings.NewReader("{"), iotest.ErrReader(io.ErrUnexpectedEOF)))
	wantMessage(t, serve(h, broken), http.StatusBadRequest, "Bad Request")
}

func TestPathsAndMethodsAreServedOnlyAsTheyAreRouted(t *testing.T) {
	api := newGateway(routes("GET /sales/{saleId}", "GET /sales/{saleId}/x", "HEAD /b"), &fakeInvoker{response: `{"statusCode":200,"body":"served"}`}, Options{})
	server := httptest.NewServer(api)
	defer server.Close()
	for request, want := range map[string]int{
		"GET /sales/a": 200, "GET //sales//a": 404, "GET /sales/../x": 200, "GET /": 404, "HEAD /sales/a": 404, "HEAD /b": 200,
	} {
		method, path, _ := strings.Cut(request, " ")
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := server.Client().Transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want || response.ContentLength <= 0 {
			t.Errorf("%s: answer %d of %d bytes, want %d", request, response.StatusCode, response.ContentLength, want)
		}
	}
}

func TestAThrottledRouteRefusesBeforeItLooksAtTheTokenAndRefills(t *testing.T) {
	now := testTime
	limited := Route{Method: http.MethodPost, Path: "/limited", Function: "F", Authorizer: testJWT(), Throttle: Throttle{PerSecond: 2, Burst: 3}}
	free := Route{Method: http.MethodGet, Path: "/free", Function: "F"}
	f := &fakeInvoker{response: `{"statusCode":200}`}
	h := newGateway([]Route{limited, free}, f, Options{Now: func() time.Time { return now }})
	statuses := func(n int) (got []int) {
		for range n {
			got = append(got, serve(h, httptest.NewRequest(http.MethodPost, "/limited", nil)).Code)
		}
		return got
	}
	if got := statuses(5); !slices.Equal(got, []int{401, 401, 401, 429, 429}) {
		t.Errorf("at once: %v", got)
	}
	wantMessage(t, serve(h, httptest.NewRequest(http.MethodPost, "/limited", nil)), http.StatusTooManyRequests, "Too Many Requests")
	if got := serve(h, httptest.NewRequest(http.MethodGet, "/free", nil)).Code; got != 200 {
		t.Errorf("another route: %d", got)
	}
	now = now.Add(time.Second)
	if got := statuses(3); !slices.Equal(got, []int{401, 401, 429}) {
		t.Errorf("a second later: %v", got)
	}
}
