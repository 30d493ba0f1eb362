package sql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"time"

	"flashsale/infra/lab/shop"
)

// most is how many purchases or messages a worker takes at once.
const most = 100

// working is a strategy with a worker in each application server.
type working struct {
	seller
	stop    context.CancelFunc
	worker  sync.WaitGroup
	backlog func(ctx context.Context) (int, error)
}

func start(d *desk, sell sale, work func(ctx context.Context)) *working {
	ctx, stop := context.WithCancel(context.Background())
	w := &working{seller: seller{d, sell}, stop: stop, backlog: func(context.Context) (int, error) { return 0, nil }}
	w.worker.Go(func() { work(ctx) })
	return w
}

// Backlog is what the worker has still to do.
func (w *working) Backlog(ctx context.Context) (int, error) { return w.backlog(ctx) }

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

// merging puts purchases into a channel, and a worker does all that wait in one
// transaction. Each is answered after the commit.
func merging(d *desk) shop.Strategy {
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
	return start(d, buy, func(ctx context.Context) {
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
				d.sellAll(ctx, all)
			}
		}
	})
}

// sellAll sells to all in one transaction, and answers them.
func (d *desk) sellAll(ctx context.Context, all []purchase) {
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
		have, err := texts(ctx, tx, "SELECT user FROM orders WHERE user IN (?"+strings.Repeat(", ?", len(users)-1)+")", users...)
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
		if _, err := change(ctx, tx, "INSERT INTO orders (user) VALUES (?)"+strings.Repeat(", (?)", len(sold)-1), sold...); err != nil {
			return "", err
		}
		_, err = change(ctx, tx, "UPDATE sale SET stock = stock - ? WHERE id = 1", len(sold))
		d.host.At(ctx, shop.Taken)
		return shop.Accepted, err
	})
	for _, p := range all {
		outcome := outcomes[p.user]
		if err == nil && outcome == shop.Accepted {
			// Of one user's clicks the first has the order.
			outcomes[p.user] = shop.AlreadyOrdered
		}
		p.answer <- answer{outcome, err}
	}
}

// outboxPause is between two looks of the worker at an empty outbox.
const outboxPause = 10 * time.Millisecond

// outbox accepts a claim, and leaves its order to a worker.
func outbox(d *desk) shop.Strategy {
	accept := func(ctx context.Context, d *desk, user string) (shop.Outcome, error) {
		if err := d.host.CheckUser(ctx, user); err != nil {
			return "", err
		}
		return d.within(ctx, d.db, sql.LevelReadCommitted, func(tx *sql.Tx) (shop.Outcome, error) {
			if _, err := tx.ExecContext(ctx, "INSERT INTO claim (user) VALUES (?)", user); isDuplicate(err) {
				return shop.AlreadyOrdered, nil
			} else if err != nil {
				return "", fmt.Errorf("insert claim: %w", err)
			}
			if taken, err := change(ctx, tx, takeOne, 1); err != nil || !taken {
				return shop.SoldOut, err
			}
			d.host.At(ctx, shop.Taken)
			_, err := change(ctx, tx, "INSERT INTO outbox (user) VALUES (?)", user)
			return shop.Accepted, err
		})
	}
	w := start(d, accept, func(ctx context.Context) {
		for ctx.Err() == nil {
			if n, err := d.carry(ctx); err != nil || n == 0 {
				time.Sleep(outboxPause)
			}
		}
	})
	// Whoever asks for the backlog reconciles.
	w.backlog = func(ctx context.Context) (int, error) {
		n, err := number(ctx, d.db, "SELECT COUNT(*) FROM claim LEFT JOIN orders USING (user) WHERE orders.user IS NULL")
		if err != nil || n == 0 {
			return 0, err
		}
		waiting, err := number(ctx, d.db, "SELECT COUNT(*) FROM outbox")
		if err == nil && waiting == 0 {
			_, err = change(ctx, d.db, "INSERT IGNORE INTO orders (user) SELECT user FROM claim")
		}
		return n, err
	}
	return w
}

// carry turns messages into orders. Messages that another worker has are skipped.
func (d *desk) carry(ctx context.Context) (n int, err error) {
	_, err = d.within(ctx, d.db, sql.LevelReadCommitted, func(tx *sql.Tx) (shop.Outcome, error) {
		users, err := texts(ctx, tx, fmt.Sprintf("SELECT user FROM outbox ORDER BY id LIMIT %d FOR UPDATE SKIP LOCKED", most))
		if n = len(users); err != nil || n == 0 {
			return shop.Busy, err
		}
		d.host.At(ctx, shop.Queued)
		var values []any
		for _, user := range users {
			values = append(values, user)
		}
		if _, err := change(ctx, tx, "INSERT IGNORE INTO orders (user) VALUES (?)"+strings.Repeat(", (?)", n-1), values...); err != nil {
			return "", err
		}
		_, err = change(ctx, tx, "DELETE FROM outbox WHERE user IN (?"+strings.Repeat(", ?", n-1)+")", values...)
		return shop.Accepted, err
	})
	return n, err
}
