package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"flashsale/infra/replies"
)

const (
	// requestTime bounds one request; API Gateway itself ends at 30 s.
	requestTime = 35 * time.Second
	// maxAnswer is the longest answer that is read, in bytes.
	maxAnswer = 64 << 10
)

// client makes the calls of buyers.
type client struct {
	url  string
	http *http.Client
}

func newClient(address string, inflight int, allowRemote bool) *client {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if !allowRemote {
		// The address that is really dialled, after redirects, names and all.
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			host, _, err := net.SplitHostPort(address)
			if err != nil || !isLoopback(host) {
				return fmt.Errorf("dial %s: %w", address, errRemote)
			}
			return nil
		}
	}
	var proxy func(*http.Request) (*url.URL, error) // none on this machine
	if allowRemote {
		proxy = http.ProxyFromEnvironment
	}
	return &client{url: address, http: &http.Client{
		Timeout: requestTime,
		// A redirect would go to somebody who was not named.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext, Proxy: proxy, TLSHandshakeTimeout: 10 * time.Second,
			MaxIdleConnsPerHost: inflight, MaxIdleConns: inflight, IdleConnTimeout: time.Minute,
			// One connection per request in flight: sharing one over HTTP/2 would make
			// requests wait for each other inside the generator.
			TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
		},
	}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// reply is an answer as it came over the wire.
type reply struct {
	status     int
	retryAfter time.Duration // negative if the answer does not say
	code       string        // of a refusal
	claim      replies.Claim
	body       []byte
}

// decode reads an answer. What is not as the contract says stays zero.
func decode(status int, header http.Header, body []byte) reply {
	r := reply{status: status, retryAfter: -1, body: body}
	if pause, ok := replies.RetryAfter(header); ok {
		r.retryAfter = pause
	}
	r.code, r.claim = replies.Read(body)
	return r
}

func (c *client) do(ctx context.Context, method, address string, body []byte, header http.Header) (int, http.Header, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, fmt.Errorf("make request: %w", err)
	}
	for name, values := range header {
		request.Header[name] = values
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, nil, err // names method and address already
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return 0, nil, nil, fmt.Errorf("read answer: %w", err)
	}
	return response.StatusCode, response.Header, answer, nil
}

// order is one click. The key may be empty.
func (c *client) order(ctx context.Context, saleID, token, key string) (reply, error) {
	header := http.Header{"Authorization": {"Bearer " + token}}
	if key != "" {
		header.Set("Idempotency-Key", key)
	}
	status, h, body, err := c.do(ctx, http.MethodPost, c.url+"/sales/"+saleID+"/orders", nil, header)
	if err != nil {
		return reply{}, err
	}
	return decode(status, h, body), nil
}

// status asks for the buyer's own claim.
func (c *client) status(ctx context.Context, saleID, token string) (reply, error) {
	status, h, body, err := c.do(ctx, http.MethodGet, c.url+"/sales/"+saleID+"/orders/me", nil,
		http.Header{"Authorization": {"Bearer " + token}})
	if err != nil {
		return reply{}, err
	}
	return decode(status, h, body), nil
}

// short is an answer in a line.
func short(status int, body []byte) string {
	if len(body) > 160 {
		body = body[:160]
	}
	return fmt.Sprintf("%d %q", status, body)
}
