package sql

import (
	"context"
	"database/sql"
	"fmt"

	"flashsale/infra/lab/shop"
)

// pessimistic locks the sale's row first and does everything else, the user
// check included, in the same transaction: a transactional service method that
// begins with "find by id for update". The lock ends with the transaction, also
// when its owner dies, so it is right; and everybody waits for everybody.
//
// The look for an order comes after the lock. It is the transaction's first
// ordinary read, so its snapshot is as young as the lock.
func pessimistic() shop.Spec {
	return shop.Spec{
		Name: "sql-for-update",
		Does: "SELECT … FOR UPDATE first, everything else in its transaction",
		Flaw: "slow: all buyers wait for one row, and for each other's user check",
		Open: opening(func(d desk) shop.Strategy { return &locker{d} }),
	}
}

type locker struct{ desk }

// Buy sells while it holds the row.
func (l *locker) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	return l.within(ctx, func(tx *sql.Tx) (shop.Outcome, error) {
		var left int
		if err := tx.QueryRowContext(ctx, "SELECT stock FROM sale WHERE id = ? FOR UPDATE", saleID).Scan(&left); err != nil {
			return "", fmt.Errorf("lock stock: %w", err)
		}
		l.host.At(ctx, shop.Locked)
		if ordered, err := has(ctx, tx, user); err != nil || ordered {
			return shop.AlreadyOrdered, err
		}
		if left <= 0 {
			return shop.SoldOut, nil
		}
		if err := l.host.CheckUser(ctx, user); err != nil {
			return "", err
		}
		if _, err := change(ctx, tx, "UPDATE sale SET stock = stock - 1 WHERE id = ?", saleID); err != nil {
			return "", err
		}
		l.host.At(ctx, shop.Taken)
		return shop.Accepted, insert(ctx, tx, user)
	})
}
