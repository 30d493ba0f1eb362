package ours

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/lab/shop"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// idle connections: as many as an application server may have buyers.
const idle = 256

// overHTTP buys as a browser does: POST /sales/{saleId}/orders at the API with
// the user's token. The application server is then only a proxy; where it is
// killed, all processes of the purchase function are killed with it.
func overHTTP(key nextKey) shop.Spec {
	return shop.Spec{
		Name: "ours-http", Needs: []shop.Need{shop.Stack},
		Does:    "the same through the real HTTP API, functions and queue of the local stack",
		Prepare: invokeSeed,
		Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) {
			return &browser{host: h, client: client.New(h.API, client.Options{Connections: idle, Lambda: h.Lambda}), key: key}, nil
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
	key    nextKey
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
	answer, err := b.client.Buy(ctx, b.host.Sale, token, b.key())
	if err != nil {
		return "", fmt.Errorf("order: %w", err)
	}
	if answer.Status == http.StatusAccepted {
		b.host.At(ctx, shop.Recorded)
		return shop.Accepted, nil
	}
	return outcomeOf(sale.Code(answer.Code), errors.New(answer.String()))
}

// Backlog is how many claims have no order yet. Once the oldest may be reconciled
// the reconcile function is asked to, as its schedule does every minute.
func (b *browser) Backlog(ctx context.Context) (int, error) {
	claims, err := unfinished(ctx, b.host.Place)
	late := func(c books.Claim) bool { return time.Since(c.AcceptedAt) > ledger.ResendGrace }
	if slices.ContainsFunc(claims, late) {
		// It fails as long as an order is missing, which is why it is asked.
		_, _ = b.client.Receipt(ctx, b.host.Sale)
	}
	return len(claims), err
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
