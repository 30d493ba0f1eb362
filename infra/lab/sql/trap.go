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

// trap opens its transaction before it takes the lock, as an annotation around
// a method that locks does. The first ordinary read fixes the snapshot: what
// others sold while it waited for the lock is not in it, however well the lock
// excludes them. The lock here is the database's own, held until after the
// commit, so that the snapshot is the only flaw.
func trap() shop.Spec {
	return shop.Spec{
		Name: "sql-lock-in-transaction",
		Does: "BEGIN, look for an order, then take a lock, SELECT stock, compare, UPDATE, INSERT, COMMIT, unlock",
		Flaw: "the repeatable-read trap: the snapshot is older than the lock, so the stock it shows has been sold",
		Open: opening(func(d desk) shop.Strategy { return &trapped{desk: d} }),
	}
}

// cure is the trap with one thing changed: the lock is taken before the
// transaction begins. It is here to show that this, and nothing else, was wrong.
func cure() shop.Spec {
	return shop.Spec{
		Name: "sql-lock-then-transaction",
		Does: "the same with the lock taken before BEGIN",
		Flaw: "slow: all buyers wait for one lock",
		Open: opening(func(d desk) shop.Strategy { return &trapped{desk: d, lockFirst: true} }),
	}
}

type trapped struct {
	desk
	lockFirst bool
}

// Buy trusts the lock.
func (t *trapped) Buy(ctx context.Context, user string) (outcome shop.Outcome, err error) {
	if err := t.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	// The lock belongs to the connection, so everything goes through one.
	connection, err := t.db.Conn(ctx)
	if err != nil {
		return "", fmt.Errorf("connect: %w", err)
	}
	defer connection.Close()
	defer func() {
		// A lock that was never granted, or died with its connection, needs no
		// release.
		_, _ = connection.ExecContext(context.WithoutCancel(ctx), "DO RELEASE_LOCK('sale')")
	}()
	if t.lockFirst {
		if err := t.lock(ctx, connection); err != nil {
			return "", err
		}
	}
	tx, err := connection.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return "", fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if outcome, err = t.sell(ctx, tx, user); err != nil || outcome != shop.Accepted {
		return outcome, err
	}
	if err := tx.Commit(); err != nil {
		return "", fmt.Errorf("commit: %w", err)
	}
	t.host.At(ctx, shop.Recorded)
	return outcome, nil
}

func (t *trapped) sell(ctx context.Context, tx *sql.Tx, user string) (shop.Outcome, error) {
	if ordered, err := has(ctx, tx, user); err != nil || ordered {
		return shop.AlreadyOrdered, err
	}
	if !t.lockFirst {
		if err := t.lock(ctx, tx); err != nil {
			return "", err
		}
	}
	left, err := stock(ctx, tx)
	if err != nil {
		return "", err
	}
	t.host.At(ctx, shop.Read)
	if left <= 0 {
		return shop.SoldOut, nil
	}
	if _, err := change(ctx, tx, "UPDATE sale SET stock = stock - 1 WHERE id = ?", saleID); err != nil {
		return "", err
	}
	t.host.At(ctx, shop.Taken)
	return shop.Accepted, insert(ctx, tx, user)
}

func (t *trapped) lock(ctx context.Context, s session) error {
	var granted sql.NullInt64
	if err := s.QueryRowContext(ctx, "SELECT GET_LOCK('sale', ?)", lockWait).Scan(&granted); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	if granted.Int64 != 1 {
		return errNoLock
	}
	t.host.At(ctx, shop.Locked)
	return nil
}
