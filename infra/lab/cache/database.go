package cache

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Some strategies keep their orders in the database of package sql's, under its unique index:
// a user has one order, whatever a queue delivers twice. Redis only decides, or only locks.

// write inserts the orders that are not there yet and takes their units in the
// same transaction; whoever gets none has no order.
func write(ctx context.Context, db *sql.DB, users []string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	values := make([]any, len(users))
	for i, user := range users {
		values[i] = user
	}
	n, err := affected(tx.ExecContext(ctx, "INSERT IGNORE INTO orders (buyer) VALUES (?)"+strings.Repeat(", (?)", len(users)-1), values...))
	if err != nil {
		return fmt.Errorf("insert orders: %w", err)
	}
	if n > 0 {
		taken, err := affected(tx.ExecContext(ctx, "UPDATE sale SET stock = stock - ? WHERE id = 1 AND stock >= ?", n, n))
		switch {
		case err != nil:
			return fmt.Errorf("update stock: %w", err)
		case taken == 0 && len(users) == 1:
			return nil // rolled back: nothing is left
		case taken == 0:
			_ = tx.Rollback()
			for _, user := range users {
				if err := write(ctx, db, []string{user}); err != nil {
					return err
				}
			}
			return nil
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

func affected(r sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}
