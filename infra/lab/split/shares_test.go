package split

import (
	"context"
	"testing"

	"flashsale/infra/lab/shop"
)

func TestTheSharesOfTheServersAreTheStock(t *testing.T) {
	for _, c := range []struct{ stock, servers int }{{20, 3}, {2, 3}, {1, 1}, {0, 3}, {100, 7}} {
		sum := 0
		for k := range c.servers {
			sum += part(c.stock, k, c.servers)
		}
		if sum != c.stock {
			t.Errorf("%d units over %d servers are %d", c.stock, c.servers, sum)
		}
	}
}

func opened(t *testing.T, dir string, server int) *share {
	t.Helper()
	s, err := openShare(shop.Host{
		Place: shop.Place{Sale: "s", Stock: 4, Dir: dir}, Server: server, Servers: 2,
		CheckUser: func(context.Context, string) error { return nil }, At: func(context.Context, shop.Point) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestAServerThatComesBackKnowsItsOwnOrdersOnly(t *testing.T) {
	dir := t.TempDir()
	buy := func(s *share, user string, want shop.Outcome) {
		t.Helper()
		if got, err := s.Buy(t.Context(), user); err != nil || got != want {
			t.Errorf("%s gets %q, %v; want %q", user, got, err, want)
		}
	}
	buy(opened(t, dir, 0), "alice", shop.Accepted)
	again := opened(t, dir, 0)
	buy(again, "alice", shop.AlreadyOrdered)
	buy(again, "bob", shop.Accepted)
	buy(again, "carol", shop.SoldOut)
	buy(opened(t, dir, 1), "alice", shop.Accepted) // the other server does not know her

	spec := shares()
	orders, err := spec.Orders(t.Context(), shop.Place{Sale: "s", Dir: dir})
	if err != nil || len(orders) != 3 {
		t.Errorf("the orders are %v, %v; want three", orders, err)
	}
}
