package ours

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"flashsale/infra/lab/shop"
	"flashsale/shared/sale"
)

const (
	// maxAnswer bounds what is read of an answer.
	maxAnswer = 64 << 10
	// idle connections: as many as an application server may have buyers.
	idle = 256
)

// overHTTP buys as a browser does: POST /sales/{saleId}/orders at the API with
// the user's token. The application server is then only a proxy; where it is
// killed, all processes of the purchase function are killed with it.
func overHTTP() shop.Spec {
	return shop.Spec{
		Name: "ours-http", Family: family, Needs: []shop.Need{shop.Stack}, Orders: orders,
		Does:    "the same through the real HTTP API, functions and queue of the local stack",
		Prepare: invokeSeed,
		Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) {
			return &browser{host: h, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: idle}}}, nil
		},
	}
}

// invokeSeed creates the sale by the seed function.
func invokeSeed(ctx context.Context, p shop.Place) error {
	now := time.Now().UTC()
	request, err := json.Marshal(map[string]any{
		"action": "create", "saleId": p.Sale, "name": "lab", "stock": p.Stock, "shards": min(p.Stock, maxShards),
		"opensAt": now.Add(-time.Minute).Format(time.RFC3339), "closesAt": now.Add(time.Hour).Format(time.RFC3339),
	})
	if err != nil {
		return fmt.Errorf("create sale: %w", err)
	}
	return again(ctx, func() error { return invoke(ctx, p.Lambda, "SeedFunction", request) })
}

// invoke calls a function by the Invoke API.
func invoke(ctx context.Context, lambda, function string, request []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost,
		lambda+"/2015-03-31/functions/"+function+"/invocations", bytes.NewReader(request))
	if err != nil {
		return fmt.Errorf("invoke %s: %w", function, err)
	}
	answer, text, err := call(http.DefaultClient, r)
	if err != nil {
		return fmt.Errorf("invoke %s: %w", function, err)
	}
	if failed := answer.Header.Get("X-Amz-Function-Error"); answer.StatusCode != http.StatusOK || failed != "" {
		return fmt.Errorf("invoke %s: %s %s: %s", function, answer.Status, failed, text)
	}
	return nil
}

type browser struct {
	host   shop.Host
	client *http.Client
	tokens sync.Map // user → token
}

// Buy clicks. Who the user is has been checked when the token was issued; the
// user service is asked besides, because all others ask it.
func (b *browser) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	if err := b.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	token, err := b.token(ctx, user)
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.host.API+"/sales/"+b.host.Sale+"/orders", nil)
	if err != nil {
		return "", fmt.Errorf("order: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Idempotency-Key", requestKey)
	answer, text, err := call(b.client, r)
	if err != nil {
		return "", fmt.Errorf("order: %w", err)
	}
	if answer.StatusCode == http.StatusAccepted {
		b.host.At(ctx, shop.Recorded)
		return shop.Accepted, nil
	}
	var problem struct {
		Code sale.Code `json:"code"`
	}
	// What is no problem document has no code and is an error below.
	_ = json.Unmarshal(text, &problem)
	switch problem.Code {
	case sale.AlreadyOrdered:
		return shop.AlreadyOrdered, nil
	case sale.SoldOut:
		return shop.SoldOut, nil
	case sale.Busy, sale.TooManyRequests:
		return shop.Busy, nil
	}
	return "", fmt.Errorf("order: %s: %s", answer.Status, text)
}

// token is the user's, from the stack's own issuer.
func (b *browser) token(ctx context.Context, user string) (string, error) {
	if known, ok := b.tokens.Load(user); ok {
		return known.(string), nil
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.host.API+"/_local/token?sub="+url.QueryEscape(user), nil)
	if err != nil {
		return "", fmt.Errorf("get token: %w", err)
	}
	answer, text, err := call(b.client, r)
	if err != nil {
		return "", fmt.Errorf("get token: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("get token: %s: %s", answer.Status, text)
	}
	b.tokens.Store(user, string(text))
	return string(text), nil
}

func call(c *http.Client, r *http.Request) (*http.Response, []byte, error) {
	answer, err := c.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	return answer, text, err
}
