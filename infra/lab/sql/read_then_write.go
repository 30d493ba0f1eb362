package sql

import (
	"context"
	"database/sql"

	"flashsale/infra/lab/shop"
)

// readThenWrite reads the stock, compares it in the application and writes the
// difference. The transaction around the two writes makes them one; it does not
// make what was read still true.
func readThenWrite() shop.Spec {
	return shop.Spec{
		Name: "sql-read-then-write",
		Does: "SELECT stock; compare; UPDATE with the difference and INSERT in one transaction",
		Flaw: "requests that read the same stock all sell it, and write it back as if only one had",
		Open: opening(func(d desk) shop.Strategy { return &reader{d} }),
	}
}

type reader struct{ desk }

// Buy believes what it read.
func (r *reader) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	if ordered, err := has(ctx, r.db, user); err != nil || ordered {
		return shop.AlreadyOrdered, err
	}
	if err := r.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	left, err := stock(ctx, r.db)
	if err != nil {
		return "", err
	}
	r.host.At(ctx, shop.Read)
	if left <= 0 {
		return shop.SoldOut, nil
	}
	return r.within(ctx, func(tx *sql.Tx) (shop.Outcome, error) {
		if _, err := change(ctx, tx, "UPDATE sale SET stock = ? WHERE id = ?", left-1, saleID); err != nil {
			return "", err
		}
		r.host.At(ctx, shop.Taken)
		return shop.Accepted, insert(ctx, tx, user)
	})
}
