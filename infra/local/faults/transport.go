package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"flashsale/infra/local/eventsource"
)

// ErrBroken: the connection broke before the answer: the request may have been applied,
// or may still be. It wraps io.ErrUnexpectedEOF.
var ErrBroken = fmt.Errorf("connection broken before the answer: %w", io.ErrUnexpectedEOF)

// lateLimit bounds a request that continues without its caller.
const lateLimit = 5 * time.Second

// Transport forwards requests to DynamoDB and SQS and injects faults into some of them.
// It is an http.RoundTripper for the SDK's HTTP client; any other request passes
// unchanged. It is safe for concurrent use; the exported fields must not be changed
// after the first request.
type Transport struct {
	Base   http.RoundTripper
	Config Config

	mu      sync.Mutex
	calls   uint64
	counts  map[string]int
	closing chan struct{} // made with the first late request
	closed  bool
	late    sync.WaitGroup
}

func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil { // a reverse proxy passes on no empty one
		var err error
		body, err = io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("read request: %w", err)
		}
	}
	// again is the request with the body that was read from it.
	again := func(ctx context.Context) *http.Request {
		clone := r.Clone(ctx)
		clone.Body, clone.ContentLength, clone.GetBody = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
		return clone
	}
	c := readRequest(r.Header.Get("X-Amz-Target"), body)
	if c.class == untouched {
		return t.Base.RoundTrip(again(r.Context()))
	}
	p := t.Config.plan(t.number(), c)
	eventsource.Sleep(r.Context(), p.wait)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if p.kind == kindLate && !t.applyLater(p.late, func(ctx context.Context) { t.apply(again(ctx)) }) {
		p.kind = kindError
	}
	t.count(p.kind)
	switch p.kind {
	case kindConflict:
		return conflicting(c, p.some).answer(r)
	case kindThrottle:
		return throttling(c, p.some).answer(r)
	case kindError, kindSendFailed:
		return internalError(c).answer(r)
	case kindLost, kindSendLost:
		// The caller may have given up; the service would not notice.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), lateLimit)
		defer cancel()
		t.apply(again(ctx))
		return nil, ErrBroken
	case kindLate:
		return nil, ErrBroken
	}
	return t.Base.RoundTrip(again(r.Context()))
}

// apply sends a request whose answer is lost, and waits for its end.
func (t *Transport) apply(r *http.Request) {
	answer, err := t.Base.RoundTrip(r)
	if err != nil {
		return // applied or not: the caller does not know in any case
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
}

// number counts a call and returns its number, from 1.
func (t *Transport) number() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls++
	return t.calls
}

func (t *Transport) count(kind string) {
	if kind == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[kind]++
}

// Counts returns how many calls had which fault so far: "conflict",
// "throttle", "error", "lost", "late", "send-failed" and "send-lost"; "calls" is the total.
func (t *Transport) Counts() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := map[string]int{"calls": int(t.calls)}
	maps.Copy(counts, t.counts)
	return counts
}

const dynamoNamespace = "com.amazonaws.dynamodb.v20120810#"

// refusal is the answer of a service that applied nothing.
type refusal struct {
	status int
	body   map[string]any
}

type reason struct {
	Code    string
	Message string `json:",omitempty"`
}

var (
	conflictReason   = reason{"TransactionConflict", "Transaction is ongoing for the item"}
	throttlingReason = reason{"ThrottlingError", "Throughput exceeds the current capacity of your table or index."}
)

func refuse(status int, kind, message string) refusal {
	return refusal{status, map[string]any{"__type": kind, "message": message}}
}

// cancelled is the cancellation of a transaction of n actions, with reason why for some
// of them.
func cancelled(n int, some []int, why reason) refusal {
	reasons, codes := make([]reason, n), make([]string, n)
	for i := range reasons {
		reasons[i] = reason{Code: "None"}
		if slices.Contains(some, i) {
			reasons[i] = why
		}
		codes[i] = reasons[i].Code
	}
	return refusal{http.StatusBadRequest, map[string]any{
		"__type": dynamoNamespace + "TransactionCanceledException",
		"Message": "Transaction cancelled, please refer cancellation reasons for specific reasons [" +
			strings.Join(codes, ", ") + "]",
		"CancellationReasons": reasons,
	}}
}

// conflicting refuses a call some of whose items are in another transaction.
func conflicting(c request, some []int) refusal {
	if c.class == transaction {
		return cancelled(c.actions, some, conflictReason)
	}
	return refuse(http.StatusBadRequest, dynamoNamespace+"TransactionConflictException", conflictReason.Message)
}

func throttling(c request, some []int) refusal {
	if c.class == transaction {
		return cancelled(c.actions, some, throttlingReason)
	}
	return refuse(http.StatusBadRequest, dynamoNamespace+"ProvisionedThroughputExceededException",
		"The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API.")
}

func internalError(c request) refusal {
	if c.class == sending {
		return refuse(http.StatusInternalServerError, "com.amazon.coral.service#InternalFailure", "We encountered an internal error. Please try again.")
	}
	return refuse(http.StatusInternalServerError, dynamoNamespace+"InternalServerError", "Internal server error")
}

// answer is the refusal as an HTTP response to request r.
func (f refusal) answer(r *http.Request) (*http.Response, error) {
	body, err := json.Marshal(f.body)
	if err != nil {
		return nil, fmt.Errorf("encode refusal: %w", err)
	}
	return &http.Response{
		StatusCode: f.status, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amzn-Requestid": {"faults"}},
		Body:   io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}, nil
}

// applyLater runs apply after a delay, or at Close if that comes first. It reports
// false, and never runs it, if the transport is closed.
func (t *Transport) applyLater(delay time.Duration, apply func(context.Context)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	if t.closing == nil {
		t.closing = make(chan struct{})
	}
	closing := t.closing
	t.late.Go(func() {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-closing:
		case <-timer.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), lateLimit)
		defer cancel()
		apply(ctx)
	})
	return true
}

// Close sends the pending late requests, and returns when none is left: after it, the
// table does not change by itself. Later requests pass as before, but none is late any
// more. It always returns nil.
func (t *Transport) Close() error {
	t.mu.Lock()
	if !t.closed && t.closing != nil {
		close(t.closing)
	}
	t.closed = true
	t.mu.Unlock()
	t.late.Wait()
	return nil
}

// Proxy is a reverse proxy to target, through t. If t returns an error, the proxy
// breaks the connection, as the service itself would. One transport may serve several
// proxies.
//
// A request is read whole before it is passed on. Otherwise a long answer may be cut off: once
// it begins, the server closes the request's body, and a transport that then looks whether the
// body is longer than declared fails and ends its connection.
func Proxy(target *url.URL, t http.RoundTripper) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:    t,
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		proxy.ServeHTTP(w, r)
	})
}
