package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"flashsale/infra/replies"
)

const (
	// requestTime bounds one request; the longest function answers within 6 s.
	requestTime = 15 * time.Second
	// seedTime bounds the making of the sale.
	seedTime = time.Minute
	// maxAnswer is the longest answer that is read, in bytes.
	maxAnswer = 64 << 10
)

// client makes the calls of a buyer and of the shop's operator.
type client struct {
	where endpoints
	http  *http.Client
}

func newClient(where endpoints, concurrency int) *client {
	// No proxy: everything is on this machine.
	return &client{where: where, http: &http.Client{
		Timeout: seedTime,
		Transport: &http.Transport{
			MaxIdleConnsPerHost: concurrency, MaxIdleConns: 2 * concurrency, IdleConnTimeout: time.Minute,
		},
	}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// reply is an answer as it came over the wire, with what the demonstration
// looks for in it.
type reply struct {
	status     int
	body       string
	retryAfter time.Duration // 0 if the answer does not say
	code       string        // of a refusal
	claim      replies.Claim // of an acceptance, a status or an "already ordered"
}

// decode reads an answer. What is not as the contract says stays zero: it is
// for the checks to find it missing.
func decode(status int, header http.Header, body []byte) reply {
	r := reply{status: status, body: string(body)}
	if pause, ok := replies.RetryAfter(header); ok {
		r.retryAfter = pause
	}
	r.code, r.claim = replies.Read(body)
	return r
}

func (c *client) call(ctx context.Context, limit time.Duration, method, url string, body []byte, header http.Header) (reply, http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return reply{}, nil, fmt.Errorf("make request: %w", err)
	}
	for name, values := range header {
		request.Header[name] = values
	}
	response, err := c.http.Do(request)
	if err != nil {
		return reply{}, nil, err // names method and address already
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return reply{}, nil, fmt.Errorf("read answer of %s: %w", url, err)
	}
	return decode(response.StatusCode, response.Header, answer), response.Header, nil
}

// order is one click. The key may be empty.
func (c *client) order(ctx context.Context, saleID, token, key string) (reply, error) {
	header := http.Header{"Authorization": {"Bearer " + token}}
	if key != "" {
		header.Set("Idempotency-Key", key)
	}
	r, _, err := c.call(ctx, requestTime, http.MethodPost, c.where.api+"/sales/"+saleID+"/orders", nil, header)
	return r, err
}

// status asks for the buyer's own claim.
func (c *client) status(ctx context.Context, saleID, token string) (reply, error) {
	r, _, err := c.call(ctx, requestTime, http.MethodGet, c.where.api+"/sales/"+saleID+"/orders/me", nil,
		http.Header{"Authorization": {"Bearer " + token}})
	return r, err
}

// token is a signed access token for the user.
func (c *client) token(ctx context.Context, user string) (string, error) {
	r, _, err := c.call(ctx, requestTime, http.MethodGet, c.where.api+"/_local/token?sub="+url.QueryEscape(user), nil, nil)
	if err != nil {
		return "", fmt.Errorf("get token: %w", err)
	}
	token := strings.TrimSpace(r.body)
	if r.status != http.StatusOK || token == "" || strings.ContainsAny(token, " \r\n") {
		return "", fmt.Errorf("get token: the stack answered %s", r.short())
	}
	return token, nil
}

// health is what a running stack says of itself.
type health struct {
	Table    string `json:"table"`
	Lambda   string `json:"lambda"`
	DynamoDB string `json:"dynamodb"`
}

// errNotStack: something answers, but it is no stack.
var errNotStack = errors.New("no local stack answers there")

// health fails if no healthy stack answers.
func (c *client) health(ctx context.Context) (health, error) {
	var h health
	r, _, err := c.call(ctx, 3*time.Second, http.MethodGet, c.where.api+"/_local/health", nil, nil)
	if err != nil {
		return h, err
	}
	if r.status != http.StatusOK || json.Unmarshal([]byte(r.body), &h) != nil {
		return h, fmt.Errorf("%w: %s", errNotStack, r.short())
	}
	return h, nil
}

// creation is what SeedFunction is sent.
type creation struct {
	Action   string `json:"action"`
	SaleID   string `json:"saleId"`
	Name     string `json:"name"`
	OpensAt  string `json:"opensAt"`
	ClosesAt string `json:"closesAt"`
	Stock    int    `json:"stock"`
	Shards   int    `json:"shards"`
}

// create makes the sale through the Lambda Invoke API.
func (c *client) create(ctx context.Context, s creation) error {
	payload, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write creation: %w", err)
	}
	r, header, err := c.call(ctx, seedTime, http.MethodPost,
		c.where.lambda+"/2015-03-31/functions/SeedFunction/invocations", payload, http.Header{"Content-Type": {"application/json"}})
	if err != nil {
		return fmt.Errorf("create sale: %w", err)
	}
	var made struct {
		SaleID         string
		Seeded, Shards int
	}
	if r.status != http.StatusOK || header.Get("X-Amz-Function-Error") != "" || json.Unmarshal([]byte(r.body), &made) != nil ||
		made.SaleID != s.SaleID || made.Seeded != s.Stock || made.Shards != s.Shards {
		return fmt.Errorf("create sale: SeedFunction answered %s", r.short())
	}
	return nil
}

// short is the answer in a line.
func (r *reply) short() string {
	body := strings.Join(strings.Fields(r.body), " ")
	if len(body) > 120 {
		body = strings.ToValidUTF8(body[:120], "") + "..."
	}
	return fmt.Sprintf("%d %q", r.status, body)
}
