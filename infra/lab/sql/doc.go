// Package sql holds the strategies that keep stock and orders in a relational
// database: what is written between BEGIN and COMMIT, and what is not.
//
// The SQL is InnoDB's, at its default isolation, REPEATABLE READ, where a strategy does
// not name another. No other engine is used.
package sql

import (
	"context"

	"flashsale/infra/lab/shop"
)

// Specs are all strategies of the package.
func Specs() []shop.Spec {
	const row = "CREATE TABLE sale (id INT PRIMARY KEY, stock INT NOT NULL, version INT NOT NULL DEFAULT 0)"
	const units = "INSERT INTO sale (id, stock) VALUES (1, @stock)"
	const orders = "CREATE TABLE orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, user VARCHAR(128) NOT NULL, KEY (user))"
	const unique = "CREATE TABLE orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, user VARCHAR(128) NOT NULL, UNIQUE KEY (user))"
	const waits = "slow: all buyers wait for one row"
	return []shop.Spec{
		spec("sql-read-then-write", "SELECT stock; compare; UPDATE with the difference and INSERT in one transaction",
			"requests that read the same stock all sell it, and write it back as if only one had", plain(readThenWrite), row, units, orders),
		spec("sql-for-update", "the user check, then SELECT … FOR UPDATE and everything else in its transaction",
			waits, plain(checkThenLock), row, units, orders),
		spec("sql-for-update-check-inside", "SELECT … FOR UPDATE first, everything else in its transaction, the user check too",
			waits+", and for each other's user check", plain(lockThenCheck), row, units, orders),
		spec("sql-version", "SELECT stock and version; UPDATE … WHERE version = …; up to five tries",
			"slow: of all who read a version one sells it and the others begin anew", plain(version), row, units, orders),
		spec("sql-conditional", "UPDATE … SET stock = stock - 1 WHERE stock > 0, INSERT in the same transaction",
			"one user's clicks that come at once all find no order and each get one", plain(conditional), row, units, orders),
		spec("sql-unique", "INSERT under a unique index of users, then the conditional UPDATE, one transaction", "", plain(insertThenTake), row, units, unique),
		on(shop.MariaDBPair, spec("sql-unique-failover", "the same on a primary whose asynchronous replica takes over when it dies",
			"the replica lacks what the primary committed last, and sells it again", plain(insertThenTake), row, units, unique)),
		on(shop.MariaDBPairSemi, spec("sql-unique-failover-semisync", "the same; a commit is answered when the replica has it", "", plain(insertThenTake), row, units, unique)),
		spec("sql-rows", "INSERT under the unique index, then a row for each unit: SELECT … FOR UPDATE SKIP LOCKED", "", plain(takeRow),
			"CREATE TABLE unit (id INT AUTO_INCREMENT PRIMARY KEY, sold BOOL NOT NULL, KEY (sold))",
			"INSERT INTO unit (sold) WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < @stock) SELECT 0 FROM n", unique),
		spec("sql-split", "INSERT under the unique index, then the conditional UPDATE of one of eight stock rows", "", plain(takeFromAny), row,
			"INSERT INTO sale (id, stock) WITH RECURSIVE n AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 7) SELECT i, @stock DIV 8 + (i < @stock MOD 8) FROM n", unique),
		spec("sql-batch", "a worker per server locks the row once for all buyers who wait, one commit for all of them", "", merging, row, units, unique),
		spec("sql-outbox", "claim, conditional UPDATE and a message in one transaction; a worker turns messages into orders, and claims that have none", "",
			outbox, row, units, unique, "CREATE TABLE claim (user VARCHAR(128) PRIMARY KEY)", "CREATE TABLE outbox (id BIGINT AUTO_INCREMENT PRIMARY KEY, user VARCHAR(128) NOT NULL, KEY (user))"),
		spec("sql-lock-in-transaction", "BEGIN, look for an order, then take a lock, SELECT stock, compare, UPDATE, INSERT, COMMIT, unlock",
			"the repeatable-read trap: the snapshot is older than the lock, so the stock it shows has been sold", plain(lockInTransaction), row, units, orders),
		spec("sql-lock-then-transaction", "the same with the lock taken before BEGIN", "slow: all buyers wait for one lock", plain(lockThenTransaction), row, units, orders),
	}
}

// spec describes a strategy with its tables; @stock in them is the stock.
func spec(name, does, flaw string, start func(*desk) shop.Strategy, tables ...string) shop.Spec {
	return shop.Spec{
		Name: name, Family: "sql", Does: does, Flaw: flaw, Needs: []shop.Need{shop.MariaDB}, Orders: orders,
		Prepare: func(ctx context.Context, p shop.Place) error { return create(ctx, p, tables) },
		Open: func(ctx context.Context, h shop.Host) (shop.Strategy, error) {
			d, err := newDesk(ctx, h)
			if err != nil {
				return nil, err
			}
			return start(d), nil
		},
	}
}

// on puts a strategy on another engine.
func on(need shop.Need, s shop.Spec) shop.Spec {
	s.Needs = []shop.Need{need}
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

// Buy sells.
func (s seller) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	return s.sell(ctx, s.desk, user)
}
