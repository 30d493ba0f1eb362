package ours

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"flashsale/infra/client"
	"flashsale/infra/lab/shop"
	"flashsale/shared/sale"
)

// idle connections: as many as an application server may have buyers.
const idle = 256

// overHTTP buys as a browser does: POST /sales/{saleId}/orders at the API with
// the user's token. The application server is then only a proxy; where it is
// killed, all processes of the purchase function are killed with it.
func overHTTP() shop.Spec {
	return shop.Spec{
		Name: "ours-http", Family: family, Needs: []shop.Need{shop.Stack}, Orders: orders,
		Does:    "the same through the real HTTP API, functions and queue of the local stack",
		Prepare: invokeSeed,
		Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) {
			return &browser{host: h, client: client.New(h.API, client.Options{Connections: idle})}, nil
		},
	}
}

// invokeSeed creates the sale by the seed function.
func invokeSeed(ctx context.Context, p shop.Place) error {
	now := time.Now()
	c := client.New(p.API, client.Options{Lambda: p.Lambda})
	defer c.Close()
	return again(ctx, func() error {
		return c.Seed(ctx, client.Sale{
			ID: p.Sale, Name: "lab", Stock: p.Stock, Shards: min(p.Stock, maxShards),
			OpensAt: now.Add(-time.Minute), ClosesAt: now.Add(time.Hour),
		})
	})
}

type browser struct {
	host   shop.Host
	client *client.Client
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
	answer, err := b.client.Buy(ctx, b.host.Sale, token, requestKey)
	if err != nil {
		return "", fmt.Errorf("order: %w", err)
	}
	if answer.Status == http.StatusAccepted {
		b.host.At(ctx, shop.Recorded)
		return shop.Accepted, nil
	}
	switch sale.Code(answer.Code) {
	case sale.AlreadyOrdered:
		return shop.AlreadyOrdered, nil
	case sale.SoldOut:
		return shop.SoldOut, nil
	case sale.Busy, sale.TooManyRequests:
		return shop.Busy, nil
	}
	return "", fmt.Errorf("order: %v", answer)
}

// token is the user's, from the stack's own issuer.
func (b *browser) token(ctx context.Context, user string) (string, error) {
	if known, ok := b.tokens.Load(user); ok {
		return known.(string), nil
	}
	token, err := b.client.Token(ctx, user)
	if err == nil {
		b.tokens.Store(user, token)
	}
	return token, err
}
