package cache

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"flashsale/infra/lab/shop"
)

// StockUp puts the whole stock under one key, and closes the client. It and Orders are
// shared by all strategies that keep their orders in Redis.
func StockUp(ctx context.Context, c *redis.Client, key string, p shop.Place) error {
	defer c.Close()
	if err := c.Set(ctx, key, p.Stock, 0).Err(); err != nil {
		return fmt.Errorf("set stock: %w", err)
	}
	return nil
}

// Orders reads the orders as the servers have appended them, and closes the client.
func Orders(ctx context.Context, c *redis.Client, key string) ([]shop.Order, error) {
	defer c.Close()
	users, err := c.LRange(ctx, key, 0, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	var orders []shop.Order
	for _, user := range users {
		orders = append(orders, shop.Order{User: user})
	}
	return orders, nil
}
