package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"flashsale/infra/lab/shop"
)

const (
	readStock = "SELECT stock FROM sale WHERE id = 1"
	subtract  = "UPDATE sale SET stock = stock - 1 WHERE id = 1"
	// takeOne decides in the database: it changes a row only while there is stock.
	takeOne = "UPDATE sale SET stock = stock - 1 WHERE id = 1 AND stock > 0"
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

// forUpdate locks the sale's row until the transaction ends, also when its owner dies.
// The user check comes before the lock, the look for an order after it. That is the transaction's
// first ordinary read, so its snapshot is as young as the lock.
func forUpdate(ctx context.Context, d *desk, user string) (shop.Outcome, error) {
	if err := d.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
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

// conditional cannot oversell. That a user has no order yet is still a look before the
// leap.
func conditional(ctx context.Context, d *desk, user string) (shop.Outcome, error) {
	if refused, err := d.admit(ctx, user); err != nil || refused != "" {
		return refused, err
	}
	return d.within(ctx, d.db, 0, func(tx *sql.Tx) (shop.Outcome, error) {
		if taken, err := change(ctx, tx, takeOne); err != nil || !taken {
			return shop.SoldOut, err
		}
		d.host.At(ctx, shop.Taken)
		return shop.Accepted, insert(ctx, tx, user)
	})
}

// insertThen lets the index decide about the user, and then takes a unit: what buyers compete for
// is locked last and for the shortest time.
func insertThen(take func(ctx context.Context, d *desk, tx *sql.Tx) (bool, error)) sale {
	return func(ctx context.Context, d *desk, user string) (shop.Outcome, error) {
		if err := d.host.CheckUser(ctx, user); err != nil {
			return "", err
		}
		return d.within(ctx, d.db, sql.LevelReadCommitted, func(tx *sql.Tx) (shop.Outcome, error) {
			if err := insert(ctx, tx, user); isDuplicate(err) {
				return shop.AlreadyOrdered, nil
			} else if err != nil {
				return "", err
			}
			if taken, err := take(ctx, d, tx); err != nil || !taken {
				return shop.SoldOut, err
			}
			d.host.At(ctx, shop.Taken)
			return shop.Accepted, nil
		})
	}
}

func takeFromRow(ctx context.Context, _ *desk, tx *sql.Tx) (bool, error) {
	return change(ctx, tx, takeOne)
}

// unitsIf takes what the user wants if the stock is at least that, but no more than least is asked of it.
func unitsIf(least int) sale {
	return func(ctx context.Context, d *desk, user string) (shop.Outcome, error) {
		n := shop.Units(user)
		return insertThen(func(ctx context.Context, _ *desk, tx *sql.Tx) (bool, error) {
			return change(ctx, tx, "UPDATE sale SET stock = stock - ? WHERE id = 1 AND stock >= ?", n, min(n, least))
		})(ctx, d, user)
	}
}

// takeRow takes any unit whose row no other transaction has locked: buyers wait for nobody.
func takeRow(ctx context.Context, d *desk, tx *sql.Tx) (bool, error) {
	unit, err := number(ctx, tx, "SELECT id FROM units WHERE NOT sold LIMIT 1 FOR UPDATE SKIP LOCKED")
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	d.host.At(ctx, shop.Locked)
	return change(ctx, tx, "UPDATE units SET sold = TRUE WHERE id = ?", unit)
}

// byVersion reads the stock with the version of its row, and takes a unit only of that version: of all who have read one
// version the first gets a unit and the others none, however many are left. After so many tries they hear overtaken.
func byVersion(tries int, overtaken shop.Outcome) sale {
	return func(ctx context.Context, d *desk, user string) (shop.Outcome, error) {
		if refused, err := d.admit(ctx, user); err != nil || refused != "" {
			return refused, err
		}
		for range tries {
			var left, version int
			if err := d.db.QueryRowContext(ctx, "SELECT stock, version FROM sale WHERE id = 1").Scan(&left, &version); err != nil {
				return "", fmt.Errorf("read: %w", err)
			}
			d.host.At(ctx, shop.Read)
			if left <= 0 {
				if ordered, err := has(ctx, d.db, user); err != nil || ordered { // by another click
					return shop.AlreadyOrdered, err
				}
				return shop.SoldOut, nil
			}
			if outcome, err := d.takeVersion(ctx, user, version); err != nil || outcome != "" {
				return outcome, err
			}
		}
		return overtaken, nil
	}
}

// takeVersion takes a unit, unless another purchase has come first: then its outcome is "".
func (d *desk) takeVersion(ctx context.Context, user string, version int) (shop.Outcome, error) {
	return d.within(ctx, d.db, sql.LevelReadCommitted, func(tx *sql.Tx) (shop.Outcome, error) {
		taken, err := change(ctx, tx, "UPDATE sale SET stock = stock - 1, version = version + 1 WHERE id = 1 AND version = ?", version)
		if err != nil || !taken {
			return "", err
		}
		d.host.At(ctx, shop.Taken)
		if err := insert(ctx, tx, user); isDuplicate(err) {
			return shop.AlreadyOrdered, nil
		} else if err != nil {
			return "", err
		}
		return shop.Accepted, nil
	})
}

// lockWait is how many seconds a purchase waits for the lock.
const lockWait = 10

// errNoLock says that the lock was not to be had.
var errNoLock = errors.New("the lock was not granted in time")

// lockInTransaction opens its transaction before it takes the lock, as an annotation
// around a method that locks does. The first ordinary read fixes the snapshot: what
// others sold while it waited for the lock is not in it. The lock is the database's own,
// held until after the commit, so that the snapshot is the only flaw.
func lockInTransaction(ctx context.Context, d *desk, user string) (shop.Outcome, error) {
	if err := d.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	// The lock belongs to the connection, so everything goes through one.
	connection, err := d.db.Conn(ctx)
	if err != nil {
		return "", fmt.Errorf("connect: %w", err)
	}
	defer connection.Close()
	defer func() {
		// A lock that was never granted, or died with its connection, needs no
		// release.
		_, _ = connection.ExecContext(context.WithoutCancel(ctx), "DO RELEASE_LOCK('sale')")
	}()
	return d.within(ctx, connection, sql.LevelRepeatableRead, func(tx *sql.Tx) (shop.Outcome, error) {
		if ordered, err := has(ctx, tx, user); err != nil || ordered {
			return shop.AlreadyOrdered, err
		}
		if err := lock(ctx, d, tx); err != nil {
			return "", err
		}
		left, err := number(ctx, tx, readStock)
		if err != nil {
			return "", err
		}
		d.host.At(ctx, shop.Read)
		if left <= 0 {
			return shop.SoldOut, nil
		}
		return take(ctx, d, tx, user)
	})
}

func lock(ctx context.Context, d *desk, s session) error {
	granted, err := number(ctx, s, "SELECT COALESCE(GET_LOCK('sale', ?), 0)", lockWait)
	if err == nil && granted != 1 {
		err = errNoLock
	}
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	d.host.At(ctx, shop.Locked)
	return nil
}
