// Package sql holds the strategies that keep stock and orders in a relational
// database: what is written between BEGIN and COMMIT, and what is not.
//
// The SQL is InnoDB's, at its default isolation, REPEATABLE READ, where a strategy does
// not name another, or PostgreSQL's at its default, READ COMMITTED.
package sql

import (
	"context"

	"flashsale/infra/lab/shop"
)

const (
	row    = "CREATE TABLE sale (id INT PRIMARY KEY, stock INT NOT NULL)"
	units  = "INSERT INTO sale (id, stock) VALUES (1, @stock)"
	counts = "ALTER TABLE sale ADD version INT NOT NULL DEFAULT 1"
	rows   = "CREATE TABLE units (id INT PRIMARY KEY, sold BOOL NOT NULL DEFAULT FALSE, KEY (sold))"
	deep   = "SET SESSION max_recursive_iterations = 1000000"
	fill   = "INSERT INTO units (id) WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < @stock) SELECT id FROM n"
	unique = "CREATE TABLE orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, buyer VARCHAR(128) NOT NULL, UNIQUE KEY (buyer))"
)

func Specs() []shop.Spec {
	const orders = "CREATE TABLE orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, buyer VARCHAR(128) NOT NULL, KEY (buyer))"
	return []shop.Spec{
		spec("sql-read-then-write", "SELECT stock; compare; UPDATE with the difference and INSERT in one transaction",
			"requests that read the same stock all sell it, and write it back as if only one had", plain(readThenWrite), row, units, orders),
		spec("sql-for-update", "the user check, then SELECT … FOR UPDATE and everything else in its transaction",
			"slow: all buyers wait for one row", plain(forUpdate), row, units, orders),
		spec("sql-conditional", "UPDATE … SET stock = stock - 1 WHERE stock > 0, INSERT in the same transaction",
			"one user's clicks that come at once all find no order and each get one", plain(conditional), row, units, orders),
		spec("sql-version-once", "SELECT stock and version; UPDATE … WHERE version = ? and INSERT under a unique index of users, one transaction; whoever is overtaken hears \"sold out\"",
			"of all who have read one version one buys: the others hear \"sold out\" although units are left", plain(byVersion(1, shop.SoldOut)), row, units, counts, unique),
		spec("sql-version", "the same with up to ten tries, then \"busy\"",
			"the more buyers at once, the more tries for one unit", plain(byVersion(10, shop.Busy)), row, units, counts, unique),
		spec("sql-unique", "INSERT under a unique index of users, then the conditional UPDATE, one transaction", "", plain(insertThen(takeFromRow)), row, units, unique),
		spec("sql-row-per-unit", "a row for each unit: INSERT under a unique index of users, then a unit whose row nobody has locked (SKIP LOCKED)",
			"a locked unit counts as sold: buyers hear \"sold out\" of the last ones, also if whoever has them locked then fails",
			plain(insertThen(takeRow)), rows, deep, fill, unique),
		spec("sql-batch", "a worker per server locks the row once for all buyers who wait, one commit for all of them", "", merging(sellAll), row, units, unique),
		spec("sql-lock-in-transaction", "BEGIN, look for an order, then take a lock, SELECT stock, compare, UPDATE, INSERT, COMMIT, unlock",
			"the repeatable-read trap: the snapshot is older than the lock, so the stock it shows has been sold", plain(lockInTransaction), row, units, orders),
		forPairs("sql-two-above-zero", "sql-unique for orders of one or two: UPDATE … SET stock = stock - 2 WHERE stock > 0",
			"one unit that is left is enough for an order of two", unitsIf(1)),
		forPairs("sql-two", "the same WHERE stock >= 2", "", unitsIf(2)),
		onPostgres("postgres-unique", "one statement, a function: INSERT under a unique index of users, then the conditional UPDATE", plain(buyOne)),
		onPostgres("postgres-batch", "a worker per server, one statement and one commit for all buyers who wait", merging(buyAll)),
	}
}

// spec describes a strategy with its tables; @stock in them is the stock.
func spec(name, does, flaw string, start func(*desk) shop.Strategy, tables ...string) shop.Spec {
	return shop.Spec{
		Name: name, Family: "sql", Does: does, Flaw: flaw, Needs: []shop.Need{shop.MariaDB}, Orders: Orders,
		Prepare: func(ctx context.Context, p shop.Place) error { return create(ctx, p, tables...) },
		Open: func(ctx context.Context, h shop.Host) (shop.Strategy, error) {
			d, err := newDesk(ctx, h)
			if err != nil {
				return nil, err
			}
			return start(d), nil
		},
	}
}

// forPairs describes sql-unique for orders of one or two units.
func forPairs(name, does, flaw string, sell sale) shop.Spec {
	s := spec(name, does, flaw, plain(sell), row, units, unique)
	s.Pairs = true
	return s
}

// sale is what is done for one buyer.
type sale func(ctx context.Context, d *desk, user string) (shop.Outcome, error)

// plain is a strategy without a worker.
func plain(sell sale) func(*desk) shop.Strategy {
	return func(d *desk) shop.Strategy { return seller{d, sell} }
}

type seller struct {
	*desk
	sell sale
}

func (s seller) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	return s.sell(ctx, s.desk, user)
}
