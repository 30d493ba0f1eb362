package ours

import (
	"context"
	"fmt"

	"flashsale/infra/kit/books"
	"flashsale/infra/lab/shop"
	"flashsale/infra/local/engine"
)

// Claimed are the users who have a unit: what was accepted, with its order or still without.
func Claimed(ctx context.Context, p shop.Place) ([]shop.Order, error) {
	s, err := readSale(ctx, p)
	if err != nil {
		return nil, err
	}
	var all []shop.Order
	for _, c := range s.Claims {
		all = append(all, shop.Order{User: c.User})
	}
	return all, nil
}

// Orders are the sale's order items. One without a claim of the same user would
// be a unit that nobody took, and is an error.
func Orders(ctx context.Context, p shop.Place) ([]shop.Order, error) {
	s, err := readSale(ctx, p)
	if err != nil {
		return nil, err
	}
	claims := map[string]books.Claim{}
	for _, c := range s.Claims {
		claims[c.ClaimID] = c
	}
	var all []shop.Order
	for id, o := range s.Orders {
		if c := claims[o.ClaimID]; c.User != o.User || c.OrderID != id {
			return nil, fmt.Errorf("count orders: order %s of %s has no claim", id, o.User)
		}
		all = append(all, shop.Order{User: o.User})
	}
	return all, nil
}

// unfinished are the claims without an order.
func unfinished(ctx context.Context, p shop.Place) ([]books.Claim, error) {
	s, err := readSale(ctx, p)
	if err != nil {
		return nil, err
	}
	return s.Unfinished(), nil
}

func readSale(ctx context.Context, p shop.Place) (s *books.Sale, err error) {
	err = again(ctx, func() error {
		read, err := books.Read(ctx, engine.Client(p.DynamoDB), p.Table)
		if err == nil {
			s = read.Sale(p.Sale)
		}
		return err
	})
	return s, err
}
