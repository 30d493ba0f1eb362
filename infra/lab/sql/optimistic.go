package sql

import (
	"context"
	"database/sql"
	"fmt"

	"flashsale/infra/lab/shop"
)

// versionTries is how often a purchase begins anew before it gives up.
const versionTries = 5

// optimistic reads the stock with its version and writes only if the version is
// still the same. Nobody waits, and of all who read one version one writes: the
// fuller the shop, the more work is thrown away, and who loses five times is
// told to try again.
//
// The look for an order and the version come from one snapshot: an order that
// the look did not see has changed the version since.
func optimistic() shop.Spec {
	return shop.Spec{
		Name: "sql-version",
		Does: "SELECT stock and version; UPDATE … WHERE version = …; up to five tries",
		Flaw: "slow: of all who read a version one sells it and the others begin anew",
		Open: opening(func(d desk) shop.Strategy { return &versioned{d} }),
	}
}

type versioned struct{ desk }

// Buy tries until nobody was quicker.
func (v *versioned) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	if err := v.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	for range versionTries {
		outcome, err := v.within(ctx, func(tx *sql.Tx) (shop.Outcome, error) { return v.try(ctx, tx, user) })
		if err != nil || outcome != shop.Busy {
			return outcome, err
		}
	}
	return shop.Busy, nil
}

func (v *versioned) try(ctx context.Context, tx *sql.Tx, user string) (shop.Outcome, error) {
	if ordered, err := has(ctx, tx, user); err != nil || ordered {
		return shop.AlreadyOrdered, err
	}
	var left, version int
	if err := tx.QueryRowContext(ctx, "SELECT stock, version FROM sale WHERE id = ?", saleID).Scan(&left, &version); err != nil {
		return "", fmt.Errorf("read stock: %w", err)
	}
	v.host.At(ctx, shop.Read)
	if left <= 0 {
		return shop.SoldOut, nil
	}
	same, err := change(ctx, tx, "UPDATE sale SET stock = stock - 1, version = version + 1 WHERE id = ? AND version = ?", saleID, version)
	if err != nil {
		return "", err
	}
	if !same {
		return shop.Busy, nil
	}
	v.host.At(ctx, shop.Taken)
	return shop.Accepted, insert(ctx, tx, user)
}
