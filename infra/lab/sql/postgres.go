package sql

import (
	"context"
	"fmt"

	"flashsale/infra/lab/shop"
)

// The functions run with plans that each connection keeps. The row that all buyers want is locked last,
// by buy, and first by buy_all, which so knows how many units there are.
var postgres = []string{
	"CREATE TABLE sale (id INT PRIMARY KEY, stock INT NOT NULL) WITH (fillfactor = 10)",
	units,
	"CREATE TABLE orders (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, buyer TEXT NOT NULL UNIQUE)",
	`CREATE FUNCTION buy(who TEXT) RETURNS TEXT LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO orders (buyer) VALUES (who) ON CONFLICT DO NOTHING;
	IF NOT FOUND THEN
		RETURN 'already-ordered';
	END IF;
	UPDATE sale SET stock = stock - 1 WHERE id = 1 AND stock > 0;
	IF FOUND THEN
		RETURN 'accepted';
	END IF;
	DELETE FROM orders WHERE buyer = who;
	RETURN 'sold-out';
END $$`,
	`CREATE FUNCTION buy_all(who TEXT[]) RETURNS TABLE (name TEXT, outcome TEXT) LANGUAGE plpgsql AS $$
DECLARE
	units INT;
BEGIN
	SELECT stock INTO units FROM sale WHERE id = 1 FOR UPDATE;
	RETURN QUERY SELECT buyer, 'already-ordered' FROM orders WHERE buyer = ANY (who);
	RETURN QUERY WITH sold AS (
		INSERT INTO orders (buyer) SELECT w FROM unnest(who) w WHERE NOT EXISTS (SELECT FROM orders WHERE buyer = w) LIMIT units RETURNING buyer
	), taken AS (
		UPDATE sale SET stock = stock - (SELECT count(*) FROM sold) WHERE id = 1
	) SELECT buyer, 'accepted' FROM sold;
END $$`,
}

func onPostgres(name, does string, start func(*desk) shop.Strategy) shop.Spec {
	s := spec(name, does, "", start, postgres...)
	s.Needs = []shop.Need{shop.Postgres}
	return s
}

func buyOne(ctx context.Context, d *desk, user string) (outcome shop.Outcome, err error) {
	if err := d.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	if err := d.db.QueryRowContext(ctx, "SELECT buy($1)", user).Scan(&outcome); err != nil {
		return "", fmt.Errorf("buy: %w", err)
	}
	d.host.At(ctx, shop.Recorded)
	return outcome, nil
}

func buyAll(ctx context.Context, d *desk, all []*shop.Purchase) {
	outcomes := map[string]shop.Outcome{}
	var users []string // a user's clicks are one
	for _, p := range all {
		if outcomes[p.User] == "" {
			users = append(users, p.User)
			outcomes[p.User] = shop.SoldOut
		}
	}
	rows, err := d.db.QueryContext(ctx, "SELECT name, outcome FROM buy_all($1)", users)
	if err == nil {
		defer rows.Close()
		for rows.Next() {
			var user string
			var outcome shop.Outcome
			if err = rows.Scan(&user, &outcome); err != nil {
				break
			}
			outcomes[user] = outcome
		}
		if err == nil {
			err = rows.Err()
		}
	}
	d.host.At(ctx, shop.Recorded)
	answerAll(all, outcomes, err)
}
