package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// maxAnswer is the longest body of an answer, in bytes.
	maxAnswer = 1 << 20
	// callFor is the longest that a call takes.
	callFor = 30 * time.Second
	// maxWait is the longest that a provider's Retry-After counts for.
	maxWait = 24 * time.Hour
)

// fixed returns the client without redirects: a POST that follows one may arrive twice.
func fixed(client *http.Client) *http.Client {
	own := *cmp.Or(client, http.DefaultClient)
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// reply is what came back, whole.
type reply struct {
	status int
	header http.Header
	body   []byte
	now    time.Time
}

// call makes one request. Without a reply the answer is Busy if there was no connection, so that nothing was sent, and
// else Unknown. net/http repeats a request on a connection that breaks only if it wrote nothing, or if it has an
// Idempotency-Key, by which the provider takes it for the same.
func (o *Options) call(ctx context.Context, method, address, body string, header map[string]string) (*reply, Answer) {
	ctx, cancel := context.WithTimeout(ctx, callFor)
	defer cancel()
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, answer(Busy, "not-reached", "the request has no valid address")
	}
	r.Header.Set("User-Agent", "flashsale")
	for _, name := range slices.Sorted(maps.Keys(header)) {
		r.Header.Set(name, header[name])
	}
	response, err := o.Client.Do(r)
	if wrapped, is := errors.AsType[*url.Error](err); is {
		err = wrapped.Err // without the address
	}
	switch {
	case err != nil && !connected.Load():
		return nil, answer(Busy, "not-reached", err.Error())
	case err != nil:
		return nil, answer(Unknown, "no-answer", err.Error())
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, answer(Unknown, "no-answer", err.Error())
	case len(text) > maxAnswer:
		return nil, answer(Unknown, "no-answer", fmt.Sprintf("the answer has more than %d bytes", maxAnswer))
	}
	return &reply{response.StatusCode, response.Header, text, o.Now()}, Answer{}
}

// code is the reply's status as a code.
func (r *reply) code() string { return "HTTP " + strconv.Itoa(r.status) }

// unclear is the answer of a status that says nothing certain, or that the provider is busy.
func (r *reply) unclear(code, words string) Answer {
	a := answer(Unknown, cmp.Or(code, r.code()), words)
	if r.status != http.StatusTooManyRequests {
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
