package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"io"

	"flashsale/infra/lab/shop"
)

const (
	readStock = "SELECT stock FROM sale WHERE id = 1"
	subtract  = "UPDATE sale SET stock = stock - 1 WHERE id = 1"
	// takeOne decides in the database: it changes a row only while there is stock.
	takeOne = "UPDATE sale SET stock = stock - 1 WHERE id = ? AND stock > 0"
)

// admit asks the user service and looks for an order. Its outcome is "" if the user
// may buy.
func (d *desk) admit(ctx context.Context, user string) (shop.Outcome, error) {
	if ordered, err := has(ctx, d.db, user); err != nil || ordered {
		return shop.AlreadyOrdered, err
	}
	return "", d.host.CheckUser(ctx, user)
}

// readThenWrite compares in the application. The transaction around the two writes
// makes them one; it does not make what was read still true.
func readThenWrite(ctx context.Context, d *desk, user string) (shop.Outcome, error) {
	if refused, err := d.admit(ctx, user); err != nil || refused != "" {
		return refused, err
	}
	left, err := number(ctx, d.db, readStock)
	if err != nil {
		return "", err
	}
	d.host.At(ctx, shop.Read)
	if left <= 0 {
		return shop.SoldOut, nil
	}
	return d.within(ctx, d.db, 0, func(tx *sql.Tx) (shop.Outcome, error) {
		if _, err := change(ctx, tx, "UPDATE sale SET stock = ? WHERE id = 1", left-1); err != nil {
			return "", err
		}
		d.host.At(ctx, shop.Taken)
		return shop.Accepted, insert(ctx, tx, user)
	})
}

func checkThenLock(ctx context.Context, d *desk, user string) (shop.Outcome, error) {
	if err := d.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	return forUpdate(ctx, d, user, func() error { return nil })
}

func lockThenCheck(ctx context.Context, d *desk, user string) (shop.Outcome, error) {
	return forUpdate(ctx, d, user, func() error { return d.host.CheckUser(ctx, user) })
}

// forUpdate locks the sale's row until the transaction ends, also when its owner dies.
// The look for an order comes after the lock. It is the transaction's first ordinary
// read, so its snapshot is as young as the lock.
func forUpdate(ctx context.Context, d *desk, user string, check func() error) (shop.Outcome, error) {
	return d.within(ctx, d.db, 0, func(tx *sql.Tx) (shop.Outcome, error) {
		left, err := number(ctx, tx, readStock+" FOR UPDATE")
		if err != nil {
			return "", err
		}
		d.host.At(ctx, shop.Locked)
		if ordered, err := has(ctx, tx, user); err != nil || ordered {
			return shop.AlreadyOrdered, err
		}
		if left <= 0 {
			return shop.SoldOut, nil
		}
		if err := check(); err != nil {
			return "", err
		}
		return take(ctx, d, tx, user)
	})
}

// take takes a unit without a look, and inserts the order.
func take(ctx context.Context, d *desk, tx *sql.Tx, user string) (shop.Outcome, error) {
	if _, err := change(ctx, tx, subtract); err != nil {
		return "", err
	}
	d.host.At(ctx, shop.Taken)
	return shop.Accepted, insert(ctx, tx, user)
}

// versionTries is how often a purchase begins anew before it gives up.
const versionTries = 5

// version writes only if nobody has written since it read. The look for an order and
// the version come from one snapshot: an order that the look did not see has changed the
// version since.
func version(ctx context.Context, d *desk, user string) (shop.Outcome, error) {
	if err := d.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	for range versionTries {
		outcome, err := d.within(ctx, d.db, 0, func(tx *sql.Tx) (shop.Outcome, error) {
			if ordered, err := has(ctx, tx, user); err != nil || ordered {
				return shop.AlreadyOrdered, err
			}
			var left, version int
			if err := tx.QueryRowContext(ctx, "SELECT stock, version FROM sale WHERE id = 1").Scan(&left, &version); err != nil {
				return "", fmt.Errorf("read stock: %w", err)
			}
			d.host.At(ctx, shop.Read)
			if left <= 0 {
				return shop.SoldOut, nil
			}
			same, err := change(ctx, tx, "UPDATE sale SET stock = stock - 1, version = version + 1 WHERE id = 1 AND version = ?", version)
			if err != nil || !same {
				return shop.Busy, err
			}
			d.host.At(ctx, shop.Taken)
			return shop.Accepted, insert(ctx, tx, user)
		})
		if err != nil || outcome != shop.Busy {
			return outcome, err
		}
	}
	return shop.Busy, nil
}

// conditional cannot oversell. That a user has no order yet is still a look before the
// leap.
func conditional(ctx context.Context, d *desk, user string) (shop.Outcome, error) {
	if refused, err := d.admit(ctx, user); err != nil || refused != "" {
		return refused, err
	}
	return d.within(ctx, d.db, 0, func(tx *sql.Tx) (shop.Outcome, error) {
		if taken, err := change(ctx, tx, takeOne, 1); err != nil || !taken {
			return shop.SoldOut, err
		}
		d.host.At(ctx, shop.Taken)
		return shop.Accepted, insert(ctx, tx, user)
	})
}

// insertFirst lets the index decide about the user, and then takes a unit: the hot row
// is locked last and for the shortest time. READ COMMITTED, because who looks for a unit
// in several rows must not keep those locked that had none.
func insertFirst(ctx context.Context, d *desk, user string, take func(tx *sql.Tx) (shop.Outcome, error)) (shop.Outcome, error) {
	if err := d.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	return d.within(ctx, d.db, sql.LevelReadCommitted, func(tx *sql.Tx) (shop.Outcome, error) {
		if err := insert(ctx, tx, user); isDuplicate(err) {
			return shop.AlreadyOrdered, nil
		} else if err != nil {
			return "", err
		}
		outcome, err := take(tx)
		if err == nil && outcome == shop.Accepted {
			d.host.At(ctx, shop.Taken)
		}
		return outcome, err
	})
}

func insertThenTake(ctx context.Context, d *desk, user string) (shop.Outcome, error) {
	return insertFirst(ctx, d, user, func(tx *sql.Tx) (shop.Outcome, error) {
		if taken, err := change(ctx, tx, takeOne, 1); err != nil || !taken {
			return shop.SoldOut, err
		}
		return shop.Accepted, nil
	})
}

// takeRow takes a unit that nobody has locked. That there is none does not mean that
// all are sold: whoever has locked the last may roll back.
func takeRow(ctx context.Context, d *desk, user string) (shop.Outcome, error) {
	return insertFirst(ctx, d, user, func(tx *sql.Tx) (shop.Outcome, error) {
		var id int
		err := tx.QueryRowContext(ctx, "SELECT id FROM unit WHERE sold = 0 LIMIT 1 FOR UPDATE SKIP LOCKED").Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			if left, err := number(ctx, tx, "SELECT COUNT(*) FROM unit WHERE sold = 0"); err != nil || left > 0 {
				return shop.Busy, err
			}
			return shop.SoldOut, nil
		}
		if err != nil {
			return "", fmt.Errorf("find unit: %w", err)
		}
		_, err = change(ctx, tx, "UPDATE unit SET sold = 1 WHERE id = ?", id)
		return shop.Accepted, err
	})
}

// stockRows is over how many rows sql-split spreads the stock.
const stockRows = 8

// takeFromAny begins at the row of the user's hash. At READ COMMITTED a row that had no
// stock is not locked on the way to the next one.
func takeFromAny(ctx context.Context, d *desk, user string) (shop.Outcome, error) {
	h := fnv.New32a()
	_, _ = io.WriteString(h, user) // a hash takes everything
	return insertFirst(ctx, d, user, func(tx *sql.Tx) (shop.Outcome, error) {
		for i := range stockRows {
			if taken, err := change(ctx, tx, takeOne, (int(h.Sum32()>>1)+i)%stockRows); err != nil || taken {
				return shop.Accepted, err
			}
		}
		return shop.SoldOut, nil
	})
}
