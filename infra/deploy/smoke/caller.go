package smoke

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// requestTime bounds one request; API Gateway itself ends at 30 s.
	requestTime = 35 * time.Second
	// maxAnswer is the longest answer that is read, in bytes.
	maxAnswer = 64 << 10
	// A caller waits as long as it is told to, within these bounds.
	minWait, maxWait = 50 * time.Millisecond, 5 * time.Second
)

// call is one request.
type call struct{ method, path, token, key string }

func get(path string) call { return call{method: http.MethodGet, path: path} }

// as is the same request of the token's user.
func (c call) as(token string) call {
	c.token = token
	return c
}

// answer is what came back, or the error because of which nothing did.
type answer struct {
	status   int
	location string
	wait     time.Duration
	body     body
	text     string
	err      error
}

func (a answer) String() string {
	switch {
	case a.err != nil:
		return a.err.Error()
	case a.body.Code != "":
		return fmt.Sprintf("%d %s", a.status, a.body.Code)
	case a.body.State != "":
		return strings.TrimSpace(fmt.Sprintf("%d %s %s", a.status, a.body.State, a.body.OrderID))
	}
	return fmt.Sprintf("%d %.80q", a.status, a.text)
}

type caller struct {
	url   string
	bound time.Duration
	http  *http.Client
}

func newCaller(url string, bound time.Duration) *caller {
	return &caller{url: url, bound: bound, http: &http.Client{
		Timeout:   requestTime,
		Transport: http.DefaultTransport.(*http.Transport).Clone(),
		// A redirect would take the token to somebody who was not named.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (c *caller) close() { c.http.CloseIdleConnections() }

// ask makes a request, and the same one again while it is only put off: a busy
// system is no wrong one (P5).
func (c *caller) ask(ctx context.Context, r call) answer {
	return c.until(ctx, r, func(a answer) bool {
		return a.err != nil || a.status != http.StatusServiceUnavailable && a.status != http.StatusTooManyRequests
	})
}

// until repeats a request until an answer is fine or the bound is over, and
// returns the last answer.
func (c *caller) until(ctx context.Context, r call, fine func(answer) bool) answer {
	end := time.Now().Add(c.bound)
	for {
		a := c.once(ctx, r)
		pause := min(max(a.wait, minWait), maxWait)
		if fine(a) || ctx.Err() != nil || time.Now().Add(pause).After(end) {
			return a
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

func (c *caller) once(ctx context.Context, r call) answer {
	request, err := http.NewRequestWithContext(ctx, r.method, c.url+r.path, nil)
	if err != nil {
		return answer{err: fmt.Errorf("make request: %w", err)}
	}
	if r.token != "" {
		request.Header.Set("Authorization", "Bearer "+r.token)
	}
	if r.key != "" {
		request.Header.Set("Idempotency-Key", r.key)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return answer{err: err} // names method and address already
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return answer{err: fmt.Errorf("read answer: %w", err)}
	}
	a := answer{status: response.StatusCode, location: response.Header.Get("Location"), body: decode(text), text: string(text)}
	if seconds, err := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 16); err == nil {
		a.wait = time.Duration(seconds) * time.Second
	}
	return a
}
