package sql

import (
	"context"
	"database/sql"
	"strings"
	"sync"

	"flashsale/infra/lab/shop"
)

// most is how many purchases a worker takes at once.
const most = 100

// working is a strategy with a worker in each application server.
type working struct {
	seller
	stop   context.CancelFunc
	worker sync.WaitGroup
}

// Close stops the worker.
func (w *working) Close() error {
	w.stop()
	w.worker.Wait()
	return w.desk.Close()
}

type purchase struct {
	user   string
	answer chan answer // has room for the answer, so the worker never waits
}

type answer struct {
	outcome shop.Outcome
	err     error
}

// merging puts purchases into a channel, and a worker sells to all that wait, in one
// transaction. Each is answered after the commit.
func merging(sellAll func(ctx context.Context, d *desk, all []purchase)) func(d *desk) shop.Strategy {
	return func(d *desk) shop.Strategy { return merge(d, sellAll) }
}

func merge(d *desk, sellAll func(ctx context.Context, d *desk, all []purchase)) shop.Strategy {
	purchases := make(chan purchase)
	buy := func(ctx context.Context, d *desk, user string) (shop.Outcome, error) {
		if err := d.host.CheckUser(ctx, user); err != nil {
			return "", err
		}
		p := purchase{user, make(chan answer, 1)}
		select {
		case purchases <- p:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		a := <-p.answer
		return a.outcome, a.err
	}
	ctx, stop := context.WithCancel(context.Background())
	w := &working{seller: seller{d, buy}, stop: stop}
	w.worker.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case p := <-purchases:
				all := []purchase{p}
				for full := false; len(all) < most && !full; {
					select {
					case p := <-purchases:
						all = append(all, p)
					default:
						full = true
					}
				}
				sellAll(ctx, d, all)
			}
		}
	})
	return w
}

// sellAll sells to all in one transaction, and answers them.
func sellAll(ctx context.Context, d *desk, all []purchase) {
	outcomes := map[string]shop.Outcome{}
	_, err := d.within(ctx, d.db, sql.LevelReadCommitted, func(tx *sql.Tx) (shop.Outcome, error) {
		left, err := number(ctx, tx, readStock+" FOR UPDATE")
		if err != nil {
			return "", err
		}
		var users []any
		for _, p := range all {
			users = append(users, p.user)
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
			case outcomes[p.user] != "":
			case len(sold) < left:
				outcomes[p.user] = shop.Accepted
				sold = append(sold, p.user)
			default:
				outcomes[p.user] = shop.SoldOut
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
func tell(all []purchase, outcomes map[string]shop.Outcome, err error) {
	for _, p := range all {
		outcome := outcomes[p.user]
		if err == nil && outcome == shop.Accepted {
			// Of one user's clicks the first has the order.
			outcomes[p.user] = shop.AlreadyOrdered
		}
		p.answer <- answer{outcome, err}
	}
}
