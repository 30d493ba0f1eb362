package ours

import (
	"context"

	"flashsale/infra/books"
	"flashsale/infra/lab/shop"
	"flashsale/infra/local/engine"
)

// orders are the sale's claims: a claim is committed with its unit, and is the
// durable record from which everything else follows.
func orders(ctx context.Context, p shop.Place) (all []shop.Order, err error) {
	err = again(ctx, func() error {
		read, err := books.Read(ctx, engine.Client(p.DynamoDB), p.Table)
		if err != nil {
			return err
		}
		all = nil
		for _, c := range read.Sale(p.Sale).Claims {
			all = append(all, shop.Order{User: c.User})
		}
		return nil
	})
	return all, err
}
