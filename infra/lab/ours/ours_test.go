package ours

import (
	"context"
	"io"
	"testing"

	"flashsale/infra/lab/shop"
	"flashsale/infra/local/engine"
	"flashsale/infra/local/engine/enginetest"
)

func quiet(p shop.Place) shop.Host {
	return shop.Host{
		Place: p, Servers: 1,
		CheckUser: func(context.Context, string) error { return nil },
		At:        func(context.Context, shop.Point) {},
	}
}

func TestTheLedgerSellsWhatThereIsAndTheTableShowsIt(t *testing.T) {
	e := enginetest.Start(t)
	p := shop.Place{Sale: "s-1", Stock: 2, DynamoDB: e.Endpoint(), Table: "ledger"}
	other := shop.Place{Sale: "s-10", Stock: 1, DynamoDB: e.Endpoint(), Table: "ledger"}
	enginetest.EnsureLedger(t, engine.Client(p.DynamoDB), p.Table)
	spec := Specs()[0]
	for _, place := range []shop.Place{p, other} {
		if err := spec.Prepare(t.Context(), place); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		place shop.Place
		user  string
		want  shop.Outcome
	}{
		{p, "a", shop.Accepted}, {other, "x", shop.Accepted}, {p, "b", shop.Accepted}, {p, "c", shop.SoldOut},
		{p, "a", shop.Accepted}, // the same page again: the same answer
	} {
		s, err := spec.Open(t.Context(), quiet(c.place))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Buy(t.Context(), c.user); got != c.want || err != nil {
			t.Errorf("%s in %s: %s (%v), want %s", c.user, c.place.Sale, got, err, c.want)
		}
		if err := s.(io.Closer).Close(); err != nil { // which waits until the orders are written
			t.Fatal(err)
		}
	}
	all, err := spec.Orders(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	users := map[string]bool{}
	for _, o := range all {
		users[o.User] = true
	}
	if len(all) != 2 || !users["a"] || !users["b"] {
		t.Errorf("the table shows %v, want a's and b's order", all)
	}
}
