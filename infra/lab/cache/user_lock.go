package cache

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"flashsale/infra/lab/shop"
)

// userLock is the seckill of vouchers as it is taught: a lock for each user, and under
// it a look for an order and a conditional UPDATE in the database. Buyers do not wait
// for each other; nothing but the lock knows a user twice.
func userLock() shop.Spec {
	s := spec("redis-user-lock", "a token lock per user; under it SELECT, then UPDATE … stock > 0 and INSERT in one transaction",
		"the lock of a process that stands still expires, and the user's other click gets a second order", shop.RedisAlways,
		func(ctx context.Context, d *desk) (shop.Strategy, error) {
			db, err := openDatabase(d.host.Place)
			if err != nil {
				return nil, err
			}
			l := token(ctx, d)
			l.close = db
			return &locked{d, l, func(user string) string { return lockKey(d.host.Place) + ":" + user }, sellFrom(db)}, nil
		})
	s.Needs = append(s.Needs, shop.MariaDB)
	s.Prepare = func(ctx context.Context, p shop.Place) error { return createTables(ctx, p, ", KEY (buyer)") }
	s.Orders = inserted
	return s
}

func sellFrom(db *sql.DB) sale {
	return func(ctx context.Context, d *desk, user string, _ int64) (shop.Outcome, error) {
		if err := d.host.CheckUser(ctx, user); err != nil {
			return "", err
		}
		var has int
		if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM seckill_orders WHERE buyer = ?", user).Scan(&has); err != nil || has > 0 {
			return shop.AlreadyOrdered, err
		}
		d.host.At(ctx, shop.Read)
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return "", fmt.Errorf("begin: %w", err)
		}
		defer func() { _ = tx.Rollback() }() // after a commit it does nothing
		taken, err := affected(tx.ExecContext(ctx, "UPDATE seckill_stock SET stock = stock - 1 WHERE id = 1 AND stock > 0"))
		if err != nil || taken == 0 {
			return shop.SoldOut, err
		}
		d.host.At(ctx, shop.Taken)
		_, err = tx.ExecContext(ctx, "INSERT INTO seckill_orders (buyer) VALUES (?)", user)
		if err := errors.Join(err, tx.Commit()); err != nil {
			return "", fmt.Errorf("insert order: %w", err)
		}
		d.host.At(ctx, shop.Recorded)
		return shop.Accepted, nil
	}
}
