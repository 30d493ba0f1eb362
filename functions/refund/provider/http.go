package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

const (
	// maxAnswer is the longest body of an answer, in bytes.
	maxAnswer = 1 << 20
	// callFor is the longest that a call takes.
	callFor = 30 * time.Second
	// maxWait is the longest that a provider's Retry-After counts for.
	maxWait = 24 * time.Hour
)

// reply is what came back, whole.
type reply struct {
	status int
	header http.Header
	body   []byte
	now    time.Time
	// isRepeat: net/http may have made the request before, on another connection.
	isRepeat bool
}

// call makes one request. Without a reply the answer is Busy if there was no connection, so that nothing was sent, and
// else Unknown. net/http repeats a request on a connection that breaks only if it wrote nothing, or if it has an
// Idempotency-Key, by which the provider takes it for the same.
func (o *Options) call(ctx context.Context, method, address, body string, header map[string]string) (*reply, Answer) {
	ctx, cancel := context.WithTimeout(ctx, callFor)
	defer cancel()
	var connections atomic.Int32
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connections.Add(1) },
	})
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, answer(Busy, "not-reached", "the request has no valid address")
	}
	r.Header.Set("User-Agent", "flashsale")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	response, err := o.client.Do(r)
	if wrapped, is := errors.AsType[*url.Error](err); is {
		err = wrapped.Err // without the address
	}
	if err != nil && connections.Load() == 0 {
		return nil, answer(Busy, "not-reached", err.Error())
	}
	var text []byte
	if err == nil {
		defer response.Body.Close()
		text, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	}
	if len(text) > maxAnswer {
		err = fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	if err != nil {
		return nil, answer(Unknown, "no-answer", err.Error())
	}
	return &reply{response.StatusCode, response.Header, text, o.Now(), connections.Load() > 1}, Answer{}
}

// reads reports whether the body is JSON of such a value.
func (r *reply) reads(value any) bool { return jsonv2.Unmarshal(r.body, value) == nil }

// answer is that of a status which is no success. What says nothing certain may still say that the provider is busy.
func (r *reply) answer(o Outcome, code, words string) Answer {
	a := answer(o, cmp.Or(code, "HTTP "+strconv.Itoa(r.status)), words)
	if a.IsRepeat = r.isRepeat; o != Unknown || r.status != http.StatusTooManyRequests {
		return a
	}
	a.Outcome = Busy
	after := r.header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(after, 10, 31); err == nil {
		a.Wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(after); err == nil {
		a.Wait = at.Sub(r.now)
	}
	a.Wait = min(max(a.Wait, 0), maxWait)
	return a
}
