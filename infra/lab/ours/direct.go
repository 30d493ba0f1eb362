package ours

import (
	"context"
	"fmt"
	"time"

	"flashsale/infra/lab/shop"
	"flashsale/infra/local/engine"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// direct calls the ledger: one DynamoDB transaction takes a unit and records
// its buyer, or does neither. The user check may be as slow as it likes; nothing
// is held while it runs.
func direct() shop.Spec {
	return shop.Spec{
		Name: "ours-ledger", Family: family, Needs: []shop.Need{shop.DynamoDB}, Orders: orders,
		Does:    "one DynamoDB transaction: stock shard > 0 minus one, and the user's claim if absent",
		Prepare: create,
		Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) {
			return &ledgered{h, ledger.New(engine.Client(h.DynamoDB), h.Table, ledger.Options{})}, nil
		},
	}
}

// create seeds the sale as the seed function does.
func create(ctx context.Context, p shop.Place) error {
	now := time.Now()
	c := sale.Creation{
		SaleID: p.Sale, Name: "lab", OpensAt: now.Add(-time.Minute), ClosesAt: now.Add(time.Hour),
		Stock: int64(p.Stock), Shards: min(p.Stock, maxShards),
	}
	if err := c.Check(); err != nil {
		return fmt.Errorf("create sale: %w", err)
	}
	l := ledger.New(engine.Client(p.DynamoDB), p.Table, ledger.Options{})
	return again(ctx, func() error {
		if _, err := l.Create(ctx, c); err != nil {
			return fmt.Errorf("create sale: %w", err)
		}
		return nil
	})
}

type ledgered struct {
	host   shop.Host
	ledger *ledger.Ledger
}

// Buy claims a unit.
func (l *ledgered) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	if err := l.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	_, err := l.ledger.Purchase(ctx, ledger.Request{SaleID: l.host.Sale, User: user, Key: requestKey})
	switch sale.CodeOf(err) {
	case "":
		l.host.At(ctx, shop.Recorded)
		return shop.Accepted, nil
	case sale.AlreadyOrdered:
		return shop.AlreadyOrdered, nil
	case sale.SoldOut:
		return shop.SoldOut, nil
	case sale.Busy:
		return shop.Busy, nil
	}
	return "", fmt.Errorf("purchase: %w", err)
}
