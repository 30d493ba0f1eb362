package browser

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// Answer is what a request gets from Intercept. The zero value lets it pass.
type Answer struct {
	Status int // in place of the server's answer
	Header map[string]string
	Body   string
	// Lost lets the server answer, and then breaks the connection.
	Lost bool
	// Refused breaks the connection before the server gets the request.
	Refused bool
	// Until delays everything else until the channel is closed.
	Until <-chan struct{}
}

// Problem is a problem as the API answers it.
func Problem(status int, code, retryAfter string) Answer {
	a := Answer{Status: status, Header: map[string]string{"Content-Type": "application/problem+json"}, Body: `{"code":"` + code + `"}`}
	if retryAfter != "" {
		a.Header["Retry-After"] = retryAfter
	}
	return a
}

// Intercept lets the function decide what happens to each later request of the tab, in
// place of the function before.
func (t *Tab) Intercept(decide func(Request) Answer) {
	t.tb.Helper()
	t.mu.Lock()
	t.decide = decide
	t.mu.Unlock()
	t.intercept.Do(t.startIntercept)
}

// Answers gives the first requests of the method whose path ends so these answers in turn; what comes later, and every other
// request, passes.
func (t *Tab) Answers(method, end string, answers ...Answer) {
	t.tb.Helper()
	var n atomic.Int64
	t.Intercept(func(r Request) Answer {
		if r.Method != method || !strings.HasSuffix(r.Path, end) {
			return Answer{}
		}
		if i := int(n.Add(1)) - 1; i < len(answers) {
			return answers[i]
		}
		return Answer{}
	})
}

func (t *Tab) startIntercept() {
	t.must("intercept requests", chromedp.Listen(t.ctx, func(event any) {
		if e, ok := event.(*fetch.EventRequestPaused); ok {
			go t.answer(e)
		}
	}))
	send(t, fetch.Enable, fetch.EnableParams{})
}

// answer decides about a request that waits for it.
func (t *Tab) answer(e *fetch.EventRequestPaused) {
	var err error
	if e.ResponseStatusCode != 0 || e.ResponseErrorReason != "" { // of a request that was Lost
		_, err = chromedp.Call(t.ctx, fetch.FailRequest, fetch.FailRequestParams{RequestID: e.RequestID, ErrorReason: network.ErrorReasonConnectionReset})
	} else {
		t.mu.Lock()
		decide := t.decide
		t.mu.Unlock()
		err = t.apply(e.RequestID, decide(requestOf(e.Request)))
	}
	// A page that is left takes its requests with it, and a test that ends its tab.
	if _, gone := errors.AsType[*cdproto.Error](err); err != nil && t.ctx.Err() == nil && !gone {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.problems = append(t.problems, "intercept: "+err.Error())
	}
}

func (t *Tab) apply(id fetch.RequestID, a Answer) (err error) {
	if a.Until != nil {
		select {
		case <-a.Until:
		case <-t.ctx.Done():
			return context.Cause(t.ctx)
		}
	}
	switch {
	case a.Refused:
		_, err = chromedp.Call(t.ctx, fetch.FailRequest, fetch.FailRequestParams{RequestID: id, ErrorReason: network.ErrorReasonConnectionRefused})
	case a.Status != 0:
		p := fetch.FulfillRequestParams{RequestID: id, ResponseCode: int64(a.Status), ResponsePhrase: http.StatusText(a.Status), Body: []byte(a.Body)}
		for name, value := range a.Header {
			p.ResponseHeaders = append(p.ResponseHeaders, &fetch.HeaderEntry{Name: name, Value: value})
		}
		_, err = chromedp.Call(t.ctx, fetch.FulfillRequest, p)
	default:
		_, err = chromedp.Call(t.ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: id, InterceptResponse: &a.Lost})
	}
	return err
}
