package cache

import (
	"context"
	"database/sql"
	"fmt"

	_ "github.com/go-sql-driver/mysql" // registers the driver that openDatabase names

	"flashsale/infra/lab/shop"
)

// The script strategies keep their orders in a database; Redis only decides.

func openDatabase(p shop.Place) (*sql.DB, error) {
	db, err := sql.Open("mysql", p.MariaDB)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db.SetMaxOpenConns(8)
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

// prepareBoth puts the stock into Redis and makes the table of orders. A user
// has one order, whatever the queue delivers twice.
func prepareBoth(ctx context.Context, p shop.Place) error {
	if err := stockUp(ctx, p); err != nil {
		return err
	}
	return withDatabase(p, func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS seckill_orders (
			id BIGINT AUTO_INCREMENT PRIMARY KEY, sale VARCHAR(64) NOT NULL, buyer VARCHAR(64) NOT NULL,
			UNIQUE KEY one_per_user (sale, buyer))`)
		if err != nil {
			return fmt.Errorf("create table: %w", err)
		}
		return nil
	})
}

func insertOrder(ctx context.Context, db *sql.DB, sale, user string) error {
	_, err := db.ExecContext(ctx, `INSERT IGNORE INTO seckill_orders (sale, buyer) VALUES (?, ?)`, sale, user)
	if err != nil {
		return fmt.Errorf("insert order: %w", err)
	}
	return nil
}

// inserted reads the orders from the database.
func inserted(ctx context.Context, p shop.Place) (orders []shop.Order, err error) {
	err = withDatabase(p, func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, `SELECT buyer FROM seckill_orders WHERE sale = ?`, p.Sale)
		if err != nil {
			return fmt.Errorf("read orders: %w", err)
		}
		defer rows.Close()
		for rows.Next() {
			var o shop.Order
			if err := rows.Scan(&o.User); err != nil {
				return fmt.Errorf("read order: %w", err)
			}
			orders = append(orders, o)
		}
		return rows.Err()
	})
	return orders, err
}
