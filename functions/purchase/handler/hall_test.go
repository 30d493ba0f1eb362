package handler

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/kit/testledger"
	"flashsale/shared/clock"
	"flashsale/shared/eligibility"
	"flashsale/shared/httpapi"
	"flashsale/shared/orderq"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// office is an in-memory user check.
type office struct {
	mu    sync.Mutex
	takes time.Duration // a call
	says  string
	calls int
}

// RoundTrip implements http.RoundTripper.
func (o *office) RoundTrip(r *http.Request) (*http.Response, error) {
	o.mu.Lock()
	o.calls++
	wait, says := o.takes, o.says
	o.mu.Unlock()
	select {
	case <-time.After(wait):
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(says)), Request: r}, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func (o *office) slow(d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.takes = d
}

func (o *office) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls
}

// hall is a sale of real handlers that share one office.
type hall struct {
	*testledger.World
	office *office
}

// discarding is a queue that nobody reads.
type discarding struct{}

func (discarding) Send(context.Context, orderq.Message) error { return nil }

// at runs a test in a hall from the opening of a sale on, whose table takes 4 ms for a call.
func at(t *testing.T, stock int64, test func(*hall)) {
	t.Helper()
	testledger.Run(t, func(w *testledger.World) {
		h := &hall{World: w, office: &office{takes: 20 * time.Millisecond, says: `{"eligible":true}`}}
		w.Open(func(c *sale.Creation) { c.Stock, c.Shards = stock, int(min(stock, 5)) })
		w.DB.Fault = func(dynamotest.Call) dynamotest.Fault { return dynamotest.Fault{Delay: 4 * time.Millisecond} }
		test(h)
	})
}

// environment returns one environment, to be invoked as by Lambda.
func (h *hall) environment(failOpen bool) lambda.Handler {
	h.T.Helper()
	users, err := eligibility.New(eligibility.Options{
		URL: "https://check.example.com", Timeout: 300 * time.Millisecond, Concurrency: 8, FailOpen: failOpen, Transport: h.office, Now: clock.Wall,
	})
	if err != nil {
		h.T.Fatal(err)
	}
	handler := New(h.Ledger(), discarding{}, telemetry.New(io.Discard, "purchase", clock.Wall), clock.Wall).Checking(users)
	return lambda.NewHandler(httpapi.Serve(handler.Handle))
}

// answer is a buyer's answer.
type answer struct {
	status int
	code   sale.Code
	wait   time.Duration // Retry-After
	took   time.Duration
}

func (h *hall) buy(e lambda.Handler, event []byte) answer {
	ctx, cancel := context.WithTimeout(h.T.Context(), timeout)
	defer cancel()
	began := time.Now()
	out, err := e.Invoke(ctx, event)
	if err != nil {
		h.T.Errorf("the function failed: %v", err)
		return answer{}
	}
	var response httpapi.Response
	if err := json.Unmarshal(out, &response); err != nil {
		h.T.Error(err)
	}
	var problem struct{ Code sale.Code }
	if err := json.Unmarshal([]byte(response.Body), &problem); err != nil {
		h.T.Error(err)
	}
	a := answer{status: response.StatusCode, code: problem.Code, took: time.Since(began)}
	if response.Headers.RetryAfter != "" {
		if a.wait, err = time.ParseDuration(response.Headers.RetryAfter + "s"); err != nil {
			h.T.Error(err)
		}
	}
	return a
}
