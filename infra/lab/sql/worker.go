package sql

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"flashsale/infra/lab/shop"
)

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

// Close stops the worker.
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
	tell(all, outcomes, err)
}

// tell answers everybody; an error is everybody's.
func tell(all []*shop.Purchase, outcomes map[string]shop.Outcome, err error) {
	for _, p := range all {
		p.Outcome, p.Err = outcomes[p.User], err
		if err == nil && p.Outcome == shop.Accepted {
			// Of one user's clicks the first has the order.
			outcomes[p.User] = shop.AlreadyOrdered
		}
	}
}
