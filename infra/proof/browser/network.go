package browser

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

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
		change, decide := t.change, t.decide
		t.mu.Unlock()
		request, a := requestOf(e.Request), Answer{}
		if change != nil {
			a = change(request)
		}
		if decide != nil && a.Status == 0 {
			a = decide(request)
		}
		err = t.apply(e.RequestID, a)
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

// Change replaces text in a file of the page before the browser gets it: name is the file's
// before its hash, such as "page.js". The text must be there once.
func (t *Tab) Change(name, old, replacement string) {
	t.tb.Helper()
	t.rewrite(name, func(text string) string {
		if n := strings.Count(text, old); n != 1 {
			t.tb.Errorf("%s has %q %d times, want once", name, old, n)
		}
		return strings.Replace(text, old, replacement, 1)
	})
}

// rewrite changes the text of a file of the page before the browser gets it.
func (t *Tab) rewrite(name string, change func(string) string) {
	t.tb.Helper()
	stem, extension, _ := strings.Cut(name, ".")
	t.mu.Lock()
	defer t.intercept.Do(t.startIntercept)
	defer t.mu.Unlock()
	t.change = func(r Request) Answer {
		path, _, _ := strings.Cut(r.Path, "?")
		file := strings.TrimPrefix(path, "/assets/")
		if file == path || !strings.HasPrefix(file, stem+".") || !strings.HasSuffix(file, "."+extension) {
			return Answer{}
		}
		response, err := http.Get(r.URL)
		if err != nil {
			t.tb.Errorf("get %s: %v", r.URL, err)
			return Answer{Refused: true}
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.tb.Errorf("read %s: %v", r.URL, err)
		}
		return Answer{Status: response.StatusCode, Header: map[string]string{"Content-Type": response.Header.Get("Content-Type")}, Body: change(string(body))}
	}
}

// Offline disconnects the tab from the network, or connects it again.
func (t *Tab) Offline(is bool) {
	t.tb.Helper()
	var conditions []*network.Conditions
	if is {
		conditions = []*network.Conditions{{Offline: true, DownloadThroughput: -1, UploadThroughput: -1}}
	}
	send(t, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: conditions})
	send(t, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: is, DownloadThroughput: -1, UploadThroughput: -1})
}
