package sql

import (
	"context"
	"database/sql"

	"flashsale/infra/lab/shop"
)

// takeOne is the statement that decides in the database: it changes a row only
// while there is stock.
const takeOne = "UPDATE sale SET stock = stock - 1 WHERE id = ? AND stock > 0"

// conditional lets the database compare and subtract in one statement, and
// inserts the order in the same transaction. It cannot oversell. That a user
// has no order yet is still a look before the leap.
func conditional() shop.Spec {
	return shop.Spec{
		Name: "sql-conditional",
		Does: "UPDATE … SET stock = stock - 1 WHERE stock > 0, INSERT in the same transaction",
		Flaw: "one user's clicks that come at once all find no order and each get one",
		Open: opening(func(d desk) shop.Strategy { return &decrementer{d} }),
	}
}

type decrementer struct{ desk }

// Buy looks for an order and then takes a unit.
func (c *decrementer) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	if ordered, err := has(ctx, c.db, user); err != nil || ordered {
		return shop.AlreadyOrdered, err
	}
	if err := c.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	return c.within(ctx, func(tx *sql.Tx) (shop.Outcome, error) {
		taken, err := change(ctx, tx, takeOne, saleID)
		if err != nil {
			return "", err
		}
		if !taken {
			return shop.SoldOut, nil
		}
		c.host.At(ctx, shop.Taken)
		return shop.Accepted, insert(ctx, tx, user)
	})
}
