package cache

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	_ "github.com/go-sql-driver/mysql" // registers the driver that openDatabase names

	"flashsale/infra/lab/shop"
)

// Some strategies keep their orders in a database; Redis only decides, or only locks.

func openDatabase(p shop.Place) (*sql.DB, error) {
	db, err := sql.Open("mysql", p.MariaDB)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db.SetMaxOpenConns(20)
	db.SetMaxIdleConns(20)
	return db, nil
}

// withDatabase does something in the database, and closes it.
func withDatabase(p shop.Place, do func(*sql.DB) error) error {
	db, err := openDatabase(p)
	if err != nil {
		return err
	}
	defer db.Close()
	return do(db)
}

// createTables makes the tables of stock and orders. By its index a user has one order,
// whatever a queue delivers twice.
func createTables(ctx context.Context, p shop.Place) error {
	return withDatabase(p, func(db *sql.DB) error {
		for _, statement := range []string{
			"CREATE TABLE seckill_stock (id INT PRIMARY KEY, stock INT NOT NULL)",
			fmt.Sprintf("INSERT INTO seckill_stock VALUES (1, %d)", p.Stock),
			"CREATE TABLE seckill_orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, buyer VARCHAR(64) NOT NULL, UNIQUE KEY one_per_user (buyer))",
		} {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("create tables: %w", err)
			}
		}
		return nil
	})
}

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
	n, err := affected(tx.ExecContext(ctx, "INSERT IGNORE INTO seckill_orders (buyer) VALUES (?)"+strings.Repeat(", (?)", len(users)-1), values...))
	if err != nil {
		return fmt.Errorf("insert orders: %w", err)
	}
	if n > 0 {
		taken, err := affected(tx.ExecContext(ctx, "UPDATE seckill_stock SET stock = stock - ? WHERE id = 1 AND stock >= ?", n, n))
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

// inserted reads the orders from the database.
func inserted(ctx context.Context, p shop.Place) (orders []shop.Order, err error) {
	err = withDatabase(p, func(db *sql.DB) error {
		buyers, err := buyersIn(ctx, db)
		for _, user := range buyers {
			orders = append(orders, shop.Order{User: user})
		}
		return err
	})
	return orders, err
}

func buyersIn(ctx context.Context, db *sql.DB) (all []string, err error) {
	rows, err := db.QueryContext(ctx, "SELECT buyer FROM seckill_orders")
	if err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var user string
		if err := rows.Scan(&user); err != nil {
			return nil, fmt.Errorf("read order: %w", err)
		}
		all = append(all, user)
	}
	return all, rows.Err()
}
