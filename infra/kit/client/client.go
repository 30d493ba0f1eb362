// Package client reaches the running system as buyers and operators do: over its HTTP API and
// the Lambda Invoke API.
//
// It implements the documented contract of both and imports no code of the system, so that
// the checks share nothing with the code they check. Every request is sent once; the caller
// decides whether to repeat it. Package place also finds deployed systems.
package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// requestTime bounds one request to the API; API Gateway's own limit is 30 s.
	requestTime = 35 * time.Second
	// invokeTime bounds one invocation; the longest function may run for five minutes.
	invokeTime = 305 * time.Second
	// maxBody is the longest response body that is read, in bytes: that of a function.
	maxBody = 6 << 20
	// tokenTTL, in seconds, is longer than any run.
	tokenTTL = "86400"
	// fetchers is how many tokens are fetched at a time; signing a token takes CPU time.
	fetchers = 16
)

// Client makes requests. It is safe for concurrent use.
type Client struct {
	API    string // its address, without a slash at the end
	lambda string
	invoke Invoke
	http   *http.Client
}

// Options configures a Client; every field is optional.
type Options struct {
	// Lambda is the address of a local stack's Invoke API.
	Lambda string
	// Invoke calls functions in place of the Invoke API at Lambda.
	Invoke Invoke
	// Connections is the number of idle connections to keep: the number of requests in flight.
	Connections int
	// Transport replaces the default, which is like http.DefaultTransport.
	Transport http.RoundTripper
}

// Invoke calls a function and returns the Lambda service's answer.
type Invoke func(ctx context.Context, function string, payload []byte) (Answer, error)

// New makes a client of the API at the address.
func New(api string, o Options) *Client {
	if o.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, o.Connections
		o.Transport = t
	}
	return &Client{
		API: strings.TrimSuffix(api, "/"), lambda: o.Lambda, invoke: o.Invoke,
		http: &http.Client{
			Transport: o.Transport,
			// Following a redirect would send the token to an address the user did not give.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Close closes the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Send makes a request to a path of the API; header alternates names and values.
func (c *Client) Send(ctx context.Context, method, path, body string, header ...string) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	return c.send(ctx, method, c.API+path, body, header)
}

func (c *Client) send(ctx context.Context, method, address, body string, header []string) (Answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return Answer{}, fmt.Errorf("make request: %w", err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return c.Do(r)
}

// Do sends a request built by the caller.
func (c *Client) Do(r *http.Request) (Answer, error) {
	response, err := c.http.Do(r)
	if err != nil {
		return Answer{}, err // already names the method and the address
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err != nil {
		return Answer{}, fmt.Errorf("read answer of %s: %w", r.URL, err)
	}
	return Read(response.StatusCode, response.Header, body), nil
}

// Buy orders one unit. If the key is empty, no Idempotency-Key is sent.
func (c *Client) Buy(ctx context.Context, saleID, token, key string) (Answer, error) {
	return c.BuyUnits(ctx, saleID, token, key, 0)
}

// BuyUnits orders so many units; 0 is one, without a body.
func (c *Client) BuyUnits(ctx context.Context, saleID, token, key string, units int64) (Answer, error) {
	header, body := bearer(token), ""
	if units > 0 {
		header, body = append(header, "Content-Type", "application/json"), fmt.Sprintf(`{"units":%d}`, units)
	}
	if key != "" {
		header = append(header, "Idempotency-Key", key)
	}
	return c.Send(ctx, http.MethodPost, "/sales/"+url.PathEscape(saleID)+"/orders", body, header...)
}

// Mine reads the claim of the token's user.
func (c *Client) Mine(ctx context.Context, saleID, token string) (Answer, error) {
	return c.Send(ctx, http.MethodGet, "/sales/"+url.PathEscape(saleID)+"/orders/me", "", bearer(token)...)
}

// Cancel gives up the order of the token's user.
func (c *Client) Cancel(ctx context.Context, saleID, token string) (Answer, error) {
	return c.Send(ctx, http.MethodDelete, "/sales/"+url.PathEscape(saleID)+"/orders/me", "", bearer(token)...)
}

// Enter enters the token's user into a sale's draw.
func (c *Client) Enter(ctx context.Context, saleID, token string) (Answer, error) {
	return c.Send(ctx, http.MethodPut, "/sales/"+url.PathEscape(saleID)+"/entries/me", "", bearer(token)...)
}

// Order reads an order of the token's user.
func (c *Client) Order(ctx context.Context, orderID, token string) (Answer, error) {
	return c.Send(ctx, http.MethodGet, "/orders/"+url.PathEscape(orderID), "", bearer(token)...)
}

// Sale reads a sale's public page.
func (c *Client) Sale(ctx context.Context, saleID string) (Answer, error) {
	return c.Send(ctx, http.MethodGet, "/sales/"+url.PathEscape(saleID), "")
}

// bearer returns the Authorization header for a token, or nothing without one.
func bearer(token string) []string {
	if token == "" {
		return nil
	}
	return []string{"Authorization", "Bearer " + token}
}

// Token gets an access token from a local stack's issuer, valid for a day; more alternates
// names and values of further query parameters.
func (c *Client) Token(ctx context.Context, user string, more ...string) (string, error) {
	query := url.Values{"sub": {user}, "ttl": {tokenTTL}}
	for i := 0; i+1 < len(more); i += 2 {
		query.Set(more[i], more[i+1])
	}
	a, err := c.Send(ctx, http.MethodGet, "/_local/token?"+query.Encode(), "")
	if err != nil {
		return "", fmt.Errorf("get token: %w", err)
	}
	token := strings.TrimSpace(string(a.Body))
	if a.Status != http.StatusOK || token == "" || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("get token: %w", unexpected(a))
	}
	return token, nil
}

// Tokens gets the users' tokens, in the same order, and stops at the first failure. It calls
// one after each token, from several goroutines.
func (c *Client) Tokens(ctx context.Context, users []string, one func()) ([]string, error) {
	tokens := make([]string, len(users))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(fetchers)
	for i, user := range users {
		group.Go(func() (err error) {
			if tokens[i], err = c.Token(ctx, user); err == nil {
				one()
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return tokens, nil
}

func unexpected(a Answer) error { return errors.New("the system answered " + a.String()) }
