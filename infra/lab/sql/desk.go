package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"flashsale/infra/lab/shop"
)

// connections are one application server's, a common size.
const connections = 20

// saleID is the row of the one sale: a run has a database of its own.
const saleID = 1

// duplicateEntry is the server's error number for a violated unique index.
const duplicateEntry = 1062

// desk is what all strategies of the package have.
type desk struct {
	host shop.Host
	db   *sql.DB
}

func open(p shop.Place) (*sql.DB, error) {
	db, err := sql.Open("mysql", p.MariaDB)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// opening makes a strategy on a desk.
func opening(strategy func(desk) shop.Strategy) func(context.Context, shop.Host) (shop.Strategy, error) {
	return func(ctx context.Context, h shop.Host) (shop.Strategy, error) {
		db, err := open(h.Place)
		if err != nil {
			return nil, err
		}
		if err := db.PingContext(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("reach database: %w", err), db.Close())
		}
		return strategy(desk{h, db}), nil
	}
}

// Close ends the connections.
func (d *desk) Close() error { return d.db.Close() }

func prepare(ctx context.Context, p shop.Place) error { return create(ctx, p, "") }

// create makes the tables; more is a further part of the orders' definition.
func create(ctx context.Context, p shop.Place, more string) error {
	db, err := open(p)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, statement := range []string{
		"CREATE TABLE sale (id INT PRIMARY KEY, stock INT NOT NULL, version INT NOT NULL DEFAULT 0) ENGINE=InnoDB",
		"CREATE TABLE orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, sale_id INT NOT NULL, user VARCHAR(128) NOT NULL" + more + ") ENGINE=InnoDB",
		fmt.Sprintf("INSERT INTO sale (id, stock) VALUES (%d, %d)", saleID, p.Stock),
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("create tables: %w", err)
		}
	}
	return nil
}

// orders are all orders, as any other client of the database sees them.
func orders(ctx context.Context, p shop.Place) ([]shop.Order, error) {
	db, err := open(p)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, "SELECT user FROM orders WHERE sale_id = ?", saleID)
	if err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	defer rows.Close()
	var all []shop.Order
	for rows.Next() {
		var o shop.Order
		if err := rows.Scan(&o.User); err != nil {
			return nil, fmt.Errorf("read orders: %w", err)
		}
		all = append(all, o)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	return all, nil
}

// session is what a statement runs in: the database, or a transaction.
type session interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// has looks whether the user has an order, by an ordinary read.
func has(ctx context.Context, s session, user string) (bool, error) {
	var n int
	err := s.QueryRowContext(ctx, "SELECT COUNT(*) FROM orders WHERE sale_id = ? AND user = ?", saleID, user).Scan(&n)
	if err != nil {
		return false, fmt.Errorf("look for an order: %w", err)
	}
	return n > 0, nil
}

// stock reads the stock by an ordinary read.
func stock(ctx context.Context, s session) (int, error) {
	var n int
	if err := s.QueryRowContext(ctx, "SELECT stock FROM sale WHERE id = ?", saleID).Scan(&n); err != nil {
		return 0, fmt.Errorf("read stock: %w", err)
	}
	return n, nil
}

func insert(ctx context.Context, s session, user string) error {
	if _, err := s.ExecContext(ctx, "INSERT INTO orders (sale_id, user) VALUES (?, ?)", saleID, user); err != nil {
		return fmt.Errorf("insert order: %w", err)
	}
	return nil
}

// change runs an update and reports whether it changed a row.
func change(ctx context.Context, s session, query string, args ...any) (bool, error) {
	result, err := s.ExecContext(ctx, query, args...)
	if err != nil {
		return false, fmt.Errorf("update stock: %w", err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return false, fmt.Errorf("update stock: %w", err)
	}
	return n > 0, nil
}

// within runs work in a transaction, which is committed if the outcome is
// Accepted and rolled back otherwise.
func (d *desk) within(ctx context.Context, work func(tx *sql.Tx) (shop.Outcome, error)) (shop.Outcome, error) {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return "", fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	outcome, err := work(tx)
	if err != nil || outcome != shop.Accepted {
		return outcome, err
	}
	if err := tx.Commit(); err != nil {
		return "", fmt.Errorf("commit: %w", err)
	}
	d.host.At(ctx, shop.Recorded)
	return outcome, nil
}

func isDuplicate(err error) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e) && e.Number == duplicateEntry
}
