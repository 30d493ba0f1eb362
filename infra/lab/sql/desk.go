package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"flashsale/infra/lab/shop"
)

// connections are one application server's, a common size.
const connections = 20

// duplicateEntry is the server's error number for a violated unique index.
const duplicateEntry = 1062

// desk is what all strategies of the package have.
type desk struct {
	host shop.Host
	db   *sql.DB
}

// Open makes the connections of one application server.
func Open(p shop.Place) (*sql.DB, error) {
	driver, name := "mysql", p.MariaDB
	if p.Postgres != "" {
		driver, name = "pgx", p.Postgres
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

func newDesk(ctx context.Context, h shop.Host) (*desk, error) {
	db, err := Open(h.Place)
	if err != nil {
		return nil, err
	}
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("reach database: %w", err), db.Close())
	}
	return &desk{h, db}, nil
}

func (d *desk) Close() error { return d.db.Close() }

// Create makes the tables sale, of the stock, and orders, of which a user has one.
func Create(ctx context.Context, p shop.Place) error { return create(ctx, p, row, units, unique) }

// create runs statements on one connection, in which @stock is the stock.
func create(ctx context.Context, p shop.Place, statements ...string) error {
	db, err := Open(p)
	if err != nil {
		return err
	}
	defer db.Close()
	c, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer c.Close()
	for _, statement := range statements {
		if _, err := c.ExecContext(ctx, strings.ReplaceAll(statement, "@stock", strconv.Itoa(p.Stock))); err != nil {
			return fmt.Errorf("create tables: %w", err)
		}
	}
	return nil
}

// Orders are all orders, as any other client of the database sees them.
func Orders(ctx context.Context, p shop.Place) ([]shop.Order, error) {
	db, err := Open(p)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	users, err := Buyers(ctx, db)
	return shop.OrdersOf(users), err
}

func Buyers(ctx context.Context, db *sql.DB) ([]string, error) {
	return texts(ctx, db, "SELECT buyer FROM orders")
}

// session is what a statement runs in: the database, or a transaction.
type session interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// texts are the values of a query's one column.
func texts(ctx context.Context, s session, query string, args ...any) (all []string, err error) {
	rows, err := s.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// number is the value of a query's one row and column; none is an error.
func number(ctx context.Context, s session, query string, args ...any) (n int, err error) {
	err = s.QueryRowContext(ctx, query, args...).Scan(&n)
	return n, err
}

// has looks whether the user has an order, by an ordinary read.
func has(ctx context.Context, s session, user string) (bool, error) {
	n, err := number(ctx, s, "SELECT COUNT(*) FROM orders WHERE buyer = ?", user)
	return n > 0, err
}

func insert(ctx context.Context, s session, user string) error {
	_, err := s.ExecContext(ctx, "INSERT INTO orders (buyer) VALUES (?)", user)
	return err
}

// change runs a statement and reports whether it changed a row.
func change(ctx context.Context, s session, query string, args ...any) (bool, error) {
	n, err := Affected(s.ExecContext(ctx, query, args...))
	return n > 0, err
}

func Affected(r sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// beginner begins a transaction: the database, or one of its connections.
type beginner interface {
	BeginTx(ctx context.Context, o *sql.TxOptions) (*sql.Tx, error)
}

// within runs work in a transaction, which is committed if the outcome is
// Accepted and rolled back otherwise.
func (d *desk) within(ctx context.Context, on beginner, level sql.IsolationLevel, work func(tx *sql.Tx) (shop.Outcome, error)) (shop.Outcome, error) {
	tx, err := on.BeginTx(ctx, &sql.TxOptions{Isolation: level})
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
	e, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && e.Number == duplicateEntry
}

// most is how many purchases a worker takes at once.
const most = 100

// merging has a worker sell to all who wait, in one transaction. Each is answered after the commit.
func merging(sellAll func(ctx context.Context, d *desk, all []*shop.Purchase)) func(d *desk) shop.Strategy {
	return func(d *desk) shop.Strategy {
		return working{shop.NewWorker(d.host, most, func(ctx context.Context, all []*shop.Purchase) { sellAll(ctx, d, all) }), d}
	}
}

type working struct {
	*shop.Worker
	desk *desk
}

func (w working) Close() error { return errors.Join(w.Worker.Close(), w.desk.Close()) }

// sellAll sells to all in one transaction, and answers them.
func sellAll(ctx context.Context, d *desk, all []*shop.Purchase) {
	outcomes := map[string]shop.Outcome{}
	_, err := d.within(ctx, d.db, sql.LevelReadCommitted, func(tx *sql.Tx) (shop.Outcome, error) {
		left, err := number(ctx, tx, readStock+" FOR UPDATE")
		if err != nil {
			return "", err
		}
		var users []any
		for _, p := range all {
			users = append(users, p.User)
		}
		// Whoever else has the row locked commits before: the read is not too old.
		have, err := texts(ctx, tx, "SELECT buyer FROM orders WHERE buyer IN (?"+strings.Repeat(", ?", len(users)-1)+")", users...)
		if err != nil {
			return "", err
		}
		for _, user := range have {
			outcomes[user] = shop.AlreadyOrdered
		}
		var sold []any
		for _, p := range all {
			switch {
			case outcomes[p.User] != "":
			case len(sold) < left:
				outcomes[p.User] = shop.Accepted
				sold = append(sold, p.User)
			default:
				outcomes[p.User] = shop.SoldOut
			}
		}
		if len(sold) == 0 {
			return shop.SoldOut, nil
		}
		if _, err := change(ctx, tx, "INSERT INTO orders (buyer) VALUES (?)"+strings.Repeat(", (?)", len(sold)-1), sold...); err != nil {
			return "", err
		}
		_, err = change(ctx, tx, "UPDATE sale SET stock = stock - ? WHERE id = 1", len(sold))
		d.host.At(ctx, shop.Taken)
		return shop.Accepted, err
	})
	answerAll(all, outcomes, err)
}

// answerAll answers everybody; an error is everybody's.
func answerAll(all []*shop.Purchase, outcomes map[string]shop.Outcome, err error) {
	for _, p := range all {
		p.Outcome, p.Err = outcomes[p.User], err
		if err == nil && p.Outcome == shop.Accepted {
			// Of one user's clicks the first has the order.
			outcomes[p.User] = shop.AlreadyOrdered
		}
	}
}
