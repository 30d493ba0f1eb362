package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// slowInvoker runs until it is released, like a function that does not notice that its
// caller has gone.
type slowInvoker struct {
	started chan struct{}
	release chan struct{}
	// ended gets the state of the invocation's context when it has been released.
	ended chan error
}

func newSlowInvoker() *slowInvoker {
	return &slowInvoker{make(chan struct{}, 1), make(chan struct{}), make(chan error, 1)}
}

func (s *slowInvoker) Invoke(ctx context.Context, _ string, _ []byte) ([]byte, string, error) {
	s.started <- struct{}{}
	<-s.release
	s.ended <- ctx.Err()
	return []byte(`{"statusCode":202}`), "", nil
}

func within[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(time.Minute):
		t.Fatalf("waited a minute for %s", what)
		panic("unreachable")
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
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			h := newGateway(t, routes("GET /"), c.invoker, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			wantMessage(t, serve(h, httptest.NewRequest(http.MethodGet, "/", nil)), c.status, c.message)
			if logged := strings.Contains(log.String(), "secret"); logged != c.logged {
				t.Errorf("the log says why: %t, want %t: %s", logged, c.logged, &log)
			}
		})
	}
}

func TestAFunctionThatIsTooSlowIsUnavailableButRunsOn(t *testing.T) {
	s := newSlowInvoker()
	h := newGateway(t, routes("POST /"), s, Options{Timeout: time.Millisecond})
	wantMessage(t, serve(h, httptest.NewRequest(http.MethodPost, "/", nil)), http.StatusServiceUnavailable, "Service Unavailable")
	within(t, "the invocation", s.started)
	close(s.release)
	if err := within(t, "the end of the invocation", s.ended); err != nil {
		t.Errorf("the invocation was cancelled: %v", err)
	}
}

func TestAClientThatGoesAwayDoesNotStopTheFunction(t *testing.T) {
	s := newSlowInvoker()
	h := newGateway(t, routes("POST /"), s, Options{})
	answered := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(answered)
		h.ServeHTTP(w, r)
	}))
	defer server.Close()
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := server.Client().Do(r)
		failed <- err
	}()
	within(t, "the invocation", s.started)
	leave()
	if err := within(t, "the client", failed); !errors.Is(err, context.Canceled) {
		t.Errorf("the client got %v", err)
	}
	within(t, "the gateway to stop waiting", answered)
	close(s.release)
	if err := within(t, "the end of the invocation", s.ended); err != nil {
		t.Errorf("the invocation was cancelled: %v", err)
	}
}

// streamed hides a body's length, as chunked transfer does.
type streamed struct{ io.Reader }

func TestBodiesThatFitLambdasEventPass(t *testing.T) {
	h := newGateway(t, routes("POST /"), &fakeInvoker{response: `{"statusCode":200}`}, Options{})
	for _, c := range []struct {
		name string
		body io.Reader
		want int
	}{
		{"with room for the rest of the event", strings.NewReader(strings.Repeat("x", maxEventBytes-10_000)), http.StatusOK},
		{"without", strings.NewReader(strings.Repeat("x", maxEventBytes)), http.StatusRequestEntityTooLarge},
		{"as Base64 without", strings.NewReader(strings.Repeat("\xff", maxEventBytes-10_000)), http.StatusRequestEntityTooLarge},
		{"larger than the event", strings.NewReader(strings.Repeat("x", maxEventBytes+1)), http.StatusRequestEntityTooLarge},
		{"larger, of unknown length", streamed{strings.NewReader(strings.Repeat("x", maxEventBytes+1))}, http.StatusRequestEntityTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := serve(h, httptest.NewRequest(http.MethodPost, "/", c.body))
			if c.want == http.StatusOK {
				if w.Code != c.want {
					t.Errorf("answer %d %s", w.Code, w.Body)
				}
				return
			}
			wantMessage(t, w, c.want, "Request Entity Too Large")
		})
	}
	t.Run("a body that breaks off is a bad request", func(t *testing.T) {
		broken := streamed{io.MultiReader(strings.NewReader("{"), brokenReader{})}
		wantMessage(t, serve(h, httptest.NewRequest(http.MethodPost, "/", broken)), http.StatusBadRequest, "Bad Request")
	})
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestRequestLineAndHeadersUpTo10240BytesPass(t *testing.T) {
	h := newGateway(t, routes("GET /"), &fakeInvoker{response: `{"statusCode":200}`}, Options{})
	// The rest is "GET / HTTP/1.1", "Host: api" and "X: " with their line ends.
	const rest = 16 + 11 + 5
	for size, want := range map[int]int{maxHeadBytes: http.StatusOK, maxHeadBytes + 1: http.StatusRequestHeaderFieldsTooLarge} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = "api"
		r.Header.Set("X", strings.Repeat("x", size-rest))
		if w := serve(h, r); w.Code != want {
			t.Errorf("%d bytes: answer %d, want %d", size, w.Code, want)
		}
	}
}

func TestPathsAndMethodsAreServedOnlyAsTheyAreRouted(t *testing.T) {
	api := newGateway(t, routes("GET /sales/{saleId}", "GET /sales/{saleId}/x", "HEAD /b"), &fakeInvoker{response: `{"statusCode":200,"body":"served"}`}, Options{})
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

func TestAResponseWithoutContentHasNoBody(t *testing.T) {
	server := httptest.NewServer(newGateway(t, routes("GET /"), &fakeInvoker{response: `{"statusCode":204,"body":"ignored"}`}, Options{}))
	defer server.Close()
	response, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || len(body) != 0 || response.StatusCode != http.StatusNoContent {
		t.Errorf("answer %d %q, %v", response.StatusCode, body, err)
	}
}

func TestAThrottledRouteRefusesBeforeItLooksAtTheTokenAndRefills(t *testing.T) {
	now := testTime
	limited := Route{Method: http.MethodPost, Path: "/limited", Function: "F", Authorizer: testJWT(), Throttle: Throttle{PerSecond: 2, Burst: 3}}
	free := Route{Method: http.MethodGet, Path: "/free", Function: "F"}
	f := &fakeInvoker{response: `{"statusCode":200}`}
	h := newGateway(t, []Route{limited, free}, f, Options{Now: func() time.Time { return now }})
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
