package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
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
	// Base sends requests.
	Base   http.RoundTripper
	Config Config
	// Keys are the names of the tables' key attributes, which identify items.
	Keys []string

	inFlight inFlight

	mu      sync.Mutex
	calls   uint64
	counts  map[string]int
	waiting int
	closing chan struct{} // made with the first late request
	closed  bool
	late    sync.WaitGroup
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := takeBody(r)
	if err != nil {
		return nil, err
	}
	c := readCall(r.Header.Get("X-Amz-Target"), body, t.Keys)
	if c.class == untouched {
		return t.Base.RoundTrip(cloneWith(r.Context(), r, body))
	}
	n := t.number()
	p := t.Config.plan(n, c)
	if err := pause(r.Context(), p.wait); err != nil {
		return nil, err
	}
	if p.kind == kindLate && !t.applyLater(p.late, func(ctx context.Context) { t.apply(cloneWith(ctx, r, body), c, n) }) {
		p.kind = kindError
	}
	t.count(p.kind)
	switch p.kind {
	case kindConflict:
		return t.conflict(cloneWith(r.Context(), r, body), c, p.some, n)
	case kindThrottle:
		if c.class == statements && p.variant {
			return t.executeExcept(cloneWith(r.Context(), r, body), p.some, throttlingReason, n)
		}
		return throttling(c, p).answer(r, n)
	case kindError, kindSendFailed:
		return internalError(c).answer(r, n)
	case kindLost, kindSendLost:
		// The caller may have given up; the service would not notice.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), lateLimit)
		defer cancel()
		t.apply(cloneWith(ctx, r, body), c, n)
		return nil, ErrBroken
	case kindLate:
		return nil, ErrBroken
	}
	return t.send(cloneWith(r.Context(), r, body), c, n)
}

// send passes a request on, unless a transaction in flight has one of its items.
func (t *Transport) send(r *http.Request, c call, n uint64) (*http.Response, error) {
	if t.Config.InFlight > 0 && c.writes() {
		if busy := t.inFlight.lock(c, time.Now(), t.Config.InFlight); len(busy) > 0 {
			t.count(kindInFlight)
			return t.conflict(r, c, busy, n)
		}
	}
	return t.Base.RoundTrip(r)
}

// conflict refuses a call with items in another transaction, or only those statements
// of a batch.
func (t *Transport) conflict(r *http.Request, c call, some []int, n uint64) (*http.Response, error) {
	if c.class == statements {
		return t.executeExcept(r, some, conflictReason, n)
	}
	return conflicting(c, some).answer(r, n)
}

// apply sends a request whose answer is lost, and waits for its end.
func (t *Transport) apply(r *http.Request, c call, n uint64) {
	answer, err := t.send(r, c, n)
	if err != nil {
		return // applied or not: the caller does not know in any case
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
}

// cloneWith returns the request with the body that was read from it.
func cloneWith(ctx context.Context, r *http.Request, body []byte) *http.Request {
	again := r.Clone(ctx)
	setBody(again, body)
	return again
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
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

// Counts returns how many calls had which fault so far: "conflict" (by chance),
// "inflight" (by another transaction), "throttle", "error", "lost", "late",
// "send-failed" and "send-lost"; "calls" is the total. A call may have two: a lost or
// late one may also find its item in flight.
func (t *Transport) Counts() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := maps.Clone(t.counts)
	if counts == nil {
		counts = map[string]int{}
	}
	counts["calls"] = int(t.calls)
	return counts
}

const (
	dynamoNamespace = "com.amazonaws.dynamodb.v20120810#"
	coralNamespace  = "com.amazon.coral.availability#"
	coralService    = "com.amazon.coral.service#"
)

// refusal is the answer of a service that applied nothing, or only a part.
type refusal struct {
	status int
	kind   string // the error's name with its namespace; "" with status 200
	body   map[string]any
}

type reason struct {
	Code    string
	Message string `json:",omitempty"`
}

var (
	conflictReason   = reason{"TransactionConflict", "Transaction is ongoing for the item"}
	capacityReason   = reason{"ProvisionedThroughputExceeded", "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API."}
	throttlingReason = reason{"ThrottlingError", "Throughput exceeds the current capacity of your table or index."}
)

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
	return refusal{http.StatusBadRequest, dynamoNamespace + "TransactionCanceledException", map[string]any{
		"Message": "Transaction cancelled, please refer cancellation reasons for specific reasons [" +
			strings.Join(codes, ", ") + "]",
		"CancellationReasons": reasons,
	}}
}

// conflicting refuses a call some of whose items are in another transaction.
func conflicting(c call, some []int) refusal {
	if c.class == transaction {
		return cancelled(len(c.items), some, conflictReason)
	}
	return refusal{http.StatusBadRequest, dynamoNamespace + "TransactionConflictException", map[string]any{
		"message": conflictReason.Message,
	}}
}

// throttling refuses a call for lack of capacity, in one of DynamoDB's two ways, which
// also differ in the spelling of their list of reasons.
func throttling(c call, p plan) refusal {
	switch {
	case c.class == transaction && len(c.items) > 0 && p.variant:
		return cancelled(len(c.items), p.some, capacityReason)
	case c.class == transaction && len(c.items) > 0:
		return cancelled(len(c.items), p.some, throttlingReason)
	case p.variant:
		return refusal{http.StatusBadRequest, dynamoNamespace + "ProvisionedThroughputExceededException", map[string]any{
			"message": capacityReason.Message, "ThrottlingReasons": throttlingReasons("TableWriteProvisionedThroughputExceeded"),
		}}
	default:
		return refusal{http.StatusBadRequest, coralNamespace + "ThrottlingException", map[string]any{
			"message": throttlingReason.Message, "throttlingReasons": throttlingReasons("TableWriteKeyRangeThroughputExceeded"),
		}}
	}
}

func throttlingReasons(text string) []map[string]string {
	return []map[string]string{{"reason": text, "resource": "arn:aws:dynamodb:us-east-1:000000000000:table/faults"}}
}

func internalError(c call) refusal {
	if c.class == sending {
		return refusal{http.StatusInternalServerError, coralService + "InternalFailure", map[string]any{
			"message": "We encountered an internal error. Please try again.",
		}}
	}
	return refusal{http.StatusInternalServerError, dynamoNamespace + "InternalServerError", map[string]any{
		"message": "Internal server error",
	}}
}

// answer is the refusal as an HTTP response to request r, which has number n.
func (f refusal) answer(r *http.Request, n uint64) (*http.Response, error) {
	if f.kind != "" {
		f.body["__type"] = f.kind
	}
	body, err := json.Marshal(f.body)
	if err != nil {
		return nil, fmt.Errorf("encode refusal: %w", err)
	}
	return &http.Response{
		Status: strconv.Itoa(f.status) + " " + http.StatusText(f.status), StatusCode: f.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"Content-Type":     {"application/x-amz-json-1.0"},
			"Content-Length":   {strconv.Itoa(len(body))},
			"X-Amzn-Requestid": {fmt.Sprintf("faults-%d", n)},
			"X-Amz-Crc32":      {strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10)},
		},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}, nil
}

// inFlight records which items are in a transaction. In DynamoDB an item can be in only
// one at a time; conflicting calls are refused.
type inFlight struct {
	mu    sync.Mutex
	until map[string]time.Time
	// order contains the same items, the first to become free in front: all are locked
	// for the same time. Each item is in it at most once.
	order []string
}

// lock returns which of the call's items are locked at now; if none is, a transaction
// locks its items for hold.
func (f *inFlight) lock(c call, now time.Time, hold time.Duration) (busy []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.free(now)
	for i, item := range c.items {
		if _, occupied := f.until[item]; occupied && item != "" {
			busy = append(busy, i)
		}
	}
	if len(busy) > 0 || c.class != transaction {
		return busy
	}
	if f.until == nil {
		f.until = map[string]time.Time{}
	}
	for i, item := range c.items {
		// The engine refuses a transaction with a duplicate item.
		if item != "" && !slices.Contains(c.items[:i], item) {
			f.until[item] = now.Add(hold)
			f.order = append(f.order, item)
		}
	}
	return nil
}

func (f *inFlight) free(now time.Time) {
	n := 0
	for n < len(f.order) && !f.until[f.order[n]].After(now) {
		delete(f.until, f.order[n])
		n++
	}
	f.order = f.order[n:]
}

// maxLate bounds how many requests may be pending without a caller.
const maxLate = 256

// applyLater runs apply after a delay, or at Close if that comes first. It reports
// false, and never runs it, if too many are waiting or the transport is closed.
func (t *Transport) applyLater(delay time.Duration, apply func(context.Context)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.waiting >= maxLate {
		return false
	}
	if t.closing == nil {
		t.closing = make(chan struct{})
	}
	closing := t.closing
	t.waiting++
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
		t.mu.Lock()
		defer t.mu.Unlock()
		t.waiting--
	})
	return true
}

// Close sends the pending late requests, and returns when none is left: after it, the
// table does not change by itself. Later requests pass as before, but none is late any
// more. It always returns nil.
func (t *Transport) Close() error {
	t.mu.Lock()
	if !t.closed {
		t.closed = true
		if t.closing != nil {
			close(t.closing)
		}
	}
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
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: t,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			breakConnection(w)
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			breakConnection(w)
			return
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		proxy.ServeHTTP(w, r)
	})
}

// breakConnection ends the connection without an answer.
func breakConnection(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		// HTTP/2 connections cannot be hijacked; the server ends the stream instead.
		panic(http.ErrAbortHandler)
	}
	_ = connection.Close()
}
