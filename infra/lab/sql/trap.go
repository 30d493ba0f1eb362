package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"flashsale/infra/lab/shop"
)

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
