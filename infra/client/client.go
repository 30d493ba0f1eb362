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
	// requestTime bounds one request to the API; API Gateway itself ends at 30 s.
	requestTime = 35 * time.Second
	// invokeTime bounds one invocation; the longest function may run for two minutes.
	invokeTime = 125 * time.Second
	// maxBody is the longest answer that is read, in bytes.
	maxBody = 1 << 20
	// tokenTTL, in seconds, outlives every run.
	tokenTTL = "86400"
	// fetchers is how many tokens are fetched at a time; signing one costs processor time.
	fetchers = 16
)

// Client makes requests. It is safe for concurrent use.
type Client struct {
	API     string // its address, without a slash at the end
	lambda  string
	invoke  Invoke
	timeout time.Duration // of one request to the API
	http    *http.Client
}

// Options are all optional.
type Options struct {
	// Lambda is the address of a local stack's Invoke API.
	Lambda string
	// Invoke calls functions in place of the Invoke API at Lambda.
	Invoke Invoke
	// Timeout bounds one request to the API instead of 35 s.
	Timeout time.Duration
	// Connections is how many idle connections are kept: as many as there are requests in flight.
	Connections int
	// Transport makes the requests in place of one like http.DefaultTransport.
	Transport http.RoundTripper
}

// Invoke calls a function and returns what the Lambda service answers.
type Invoke func(ctx context.Context, function string, payload []byte) (Answer, error)

// New makes a client of the API at the address.
func New(api string, o Options) *Client {
	if o.Timeout == 0 {
		o.Timeout = requestTime
	}
	if o.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, o.Connections
		o.Transport = t
	}
	return &Client{
		API: strings.TrimSuffix(api, "/"), lambda: o.Lambda, invoke: o.Invoke, timeout: o.Timeout,
		http: &http.Client{
			Transport: o.Transport,
			// A redirect would take the token to an address that nobody named.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Close closes the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Send makes a request to a path of the API; header is names and values in turn.
func (c *Client) Send(ctx context.Context, method, path, body string, header ...string) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
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

// Do makes a request that the caller has put together.
func (c *Client) Do(r *http.Request) (Answer, error) {
	response, err := c.http.Do(r)
	if err != nil {
		return Answer{}, err // names method and address already
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err != nil {
		return Answer{}, fmt.Errorf("read answer of %s: %w", r.URL, err)
	}
	return Read(response.StatusCode, response.Header, body), nil
}

// Buy asks for one unit. The Idempotency-Key may be empty: then none is sent.
func (c *Client) Buy(ctx context.Context, saleID, token, key string) (Answer, error) {
	header := bearer(token)
	if key != "" {
		header = append(header, "Idempotency-Key", key)
	}
	return c.Send(ctx, http.MethodPost, "/sales/"+url.PathEscape(saleID)+"/orders", "", header...)
}

// Mine asks for the claim of the token's user.
func (c *Client) Mine(ctx context.Context, saleID, token string) (Answer, error) {
	return c.Send(ctx, http.MethodGet, "/sales/"+url.PathEscape(saleID)+"/orders/me", "", bearer(token)...)
}

// Order asks for an order of the token's user.
func (c *Client) Order(ctx context.Context, orderID, token string) (Answer, error) {
	return c.Send(ctx, http.MethodGet, "/orders/"+url.PathEscape(orderID), "", bearer(token)...)
}

// Sale asks for a sale's public page.
func (c *Client) Sale(ctx context.Context, saleID string) (Answer, error) {
	return c.Send(ctx, http.MethodGet, "/sales/"+url.PathEscape(saleID), "")
}

// bearer is the header of a token's user, or none.
func bearer(token string) []string {
	if token == "" {
		return nil
	}
	return []string{"Authorization", "Bearer " + token}
}

// Token is an access token of a local stack's own issuer, valid for a day; more are parameters
// of its query, names and values in turn.
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

// Tokens are the users' tokens in the same order. The first failure ends it. one is called
// after each, by several goroutines.
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
