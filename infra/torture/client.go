package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"flashsale/infra/replies"
)

const (
	// callTime bounds one call; a dead stack can keep nobody longer.
	callTime = 15 * time.Second
	// maxAnswer is the longest answer that is read, in bytes.
	maxAnswer = 1 << 20
	// dayToken makes tokens outlive every run, in seconds.
	dayToken = "ttl=86400"
)

// client calls the system over HTTP and never repeats a call by itself.
type client struct {
	api, lambda string
	http        *http.Client
}

func newClient(api, lambda string, concurrency int) *client {
	return &client{api: api, lambda: lambda, http: &http.Client{
		Timeout:   callTime,
		Transport: &http.Transport{MaxIdleConnsPerHost: concurrency, IdleConnTimeout: 30 * time.Second},
	}}
}

// reply is an answer with what is looked for in it.
type reply struct {
	status     int
	failed     bool          // a function invoked directly failed
	retryAfter time.Duration // 0 if the answer does not say
	body       string
	code       string // of a refusal
	claim      replies.Claim
}

// decode reads an answer; what is not as promised stays zero and so fails the
// caller's checks.
func decode(status int, header http.Header, body []byte) reply {
	r := reply{status: status, body: string(body), failed: header.Get("X-Amz-Function-Error") != ""}
	if pause, ok := replies.RetryAfter(header); ok {
		r.retryAfter = pause
	}
	r.code, r.claim = replies.Read(body)
	return r
}

// unknown tells that the answer leaves open what happened, or that nothing
// has happened yet: the same request may be repeated.
func (r reply) unknown() bool { return r.status >= 500 || r.status == http.StatusTooManyRequests }

func (r reply) String() string {
	body := strings.Join(strings.Fields(r.body), " ")
	if len(body) > 160 {
		body = strings.ToValidUTF8(body[:160], "") + "..."
	}
	return fmt.Sprintf("%d %q", r.status, body)
}

func (c *client) call(ctx context.Context, method, url string, body []byte, header ...string) (reply, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return reply{}, fmt.Errorf("make request: %w", err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := c.http.Do(request)
	if err != nil {
		return reply{}, err // names method and address already
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return reply{}, fmt.Errorf("read answer of %s: %w", url, err)
	}
	return decode(response.StatusCode, response.Header, answer), nil
}

// token is one try to get a signed token.
func (c *client) token(ctx context.Context, user string) (string, bool) {
	r, err := c.call(ctx, http.MethodGet, c.api+"/_local/token?"+dayToken+"&sub="+url.QueryEscape(user), nil)
	return strings.TrimSpace(r.body), err == nil && r.status == http.StatusOK
}

// order is one click; the key may be empty.
func (c *client) order(ctx context.Context, saleID, token, key string) (reply, error) {
	header := []string{"Authorization", "Bearer " + token}
	if key != "" {
		header = append(header, "Idempotency-Key", key)
	}
	return c.call(ctx, http.MethodPost, c.api+"/sales/"+saleID+"/orders", nil, header...)
}

// mine asks for the caller's own claim.
func (c *client) mine(ctx context.Context, saleID, token string) (reply, error) {
	return c.call(ctx, http.MethodGet, c.api+"/sales/"+saleID+"/orders/me", nil, "Authorization", "Bearer "+token)
}

// invoke runs a function as `aws lambda invoke` does; false means that it is
// not known to have succeeded.
func (c *client) invoke(ctx context.Context, function string, payload any) (reply, bool) {
	body, err := json.Marshal(payload)
	if err != nil {
		return reply{}, false
	}
	r, err := c.call(ctx, http.MethodPost, c.lambda+"/2015-03-31/functions/"+function+"/invocations", body, "Content-Type", "application/json")
	return r, err == nil && r.status == http.StatusOK && !r.failed
}
