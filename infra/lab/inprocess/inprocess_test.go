package inprocess

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"

	"flashsale/infra/lab/shop"
)

// opened is a strategy in this process, in a shop where nothing takes time but
// what pass does at the points.
func opened(t *testing.T, spec shop.Spec, place shop.Place, pass func(shop.Point)) shop.Strategy {
	t.Helper()
	s, err := spec.Open(t.Context(), shop.Host{
		Place: place, Servers: 1,
		CheckUser: func(context.Context, string) error { return nil },
		At:        func(_ context.Context, p shop.Point) { pass(p) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := s.(io.Closer); ok {
		t.Cleanup(func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return s
}

func stocked(t *testing.T, units int) shop.Place {
	t.Helper()
	p := shop.Place{Sale: "s", Stock: units, Dir: t.TempDir()}
	if err := prepare(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	return p
}

func undisturbed(shop.Point) {}

func buy(t *testing.T, s shop.Strategy, user string) shop.Outcome {
	t.Helper()
	outcome, err := s.Buy(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

func TestBuyersWhoComeOneAfterTheOtherGetWhatThereIs(t *testing.T) {
	for _, spec := range Specs() {
		t.Run(spec.Name, func(t *testing.T) {
			p := stocked(t, 2)
			s := opened(t, spec, p, undisturbed)
			for _, c := range []struct {
				user string
				want shop.Outcome
			}{{"a", shop.Accepted}, {"a", shop.AlreadyOrdered}, {"b", shop.Accepted}, {"c", shop.SoldOut}} {
				if got := buy(t, s, c.user); got != c.want {
					t.Errorf("%s: %s, want %s", c.user, got, c.want)
				}
			}
			all, err := spec.Orders(t.Context(), p)
			if err != nil || len(all) != 2 || all[0].User != "a" || all[1].User != "b" {
				t.Errorf("the orders are %v (%v), want a's and b's", all, err)
			}
		})
	}
}

func TestOneProcessNeverOversells(t *testing.T) {
	for _, spec := range Specs() {
		t.Run(spec.Name, func(t *testing.T) {
			p := stocked(t, 5)
			s := opened(t, spec, p, undisturbed)
			var crowd sync.WaitGroup
			for i := range 40 {
				crowd.Go(func() {
					if _, err := s.Buy(t.Context(), fmt.Sprint("buyer", i)); err != nil {
						t.Error(err)
					}
				})
			}
			crowd.Wait()
			if all, err := orders(t.Context(), p); err != nil || len(all) != 5 {
				t.Errorf("%d orders (%v), want 5", len(all), err)
			}
		})
	}
}

// Each process has a mutex of its own.
func TestTwoProcessesThatReadTheSameStockBothSellIt(t *testing.T) {
	p := stocked(t, 1)
	var both sync.WaitGroup
	both.Add(2)
	var buyers sync.WaitGroup
	for _, user := range []string{"a", "b"} {
		s := opened(t, mutex(), p, func(at shop.Point) {
			if at == shop.Read {
				both.Done()
				both.Wait()
			}
		})
		buyers.Go(func() {
			if outcome, err := s.Buy(t.Context(), user); outcome != shop.Accepted || err != nil {
				t.Errorf("%s: %s, %v", user, outcome, err)
			}
		})
	}
	buyers.Wait()
	if all, err := orders(t.Context(), p); err != nil || len(all) != 2 {
		t.Errorf("%d orders for one unit (%v), want 2", len(all), err)
	}
}

// A second process has an owner of its own.
func TestAProcessKnowsTheOrdersOfBeforeAndNotThoseOfAnother(t *testing.T) {
	p := stocked(t, 2)
	first := opened(t, owner(), p, undisturbed)
	if got := buy(t, first, "a"); got != shop.Accepted {
		t.Fatalf("a: %s", got)
	}
	second := opened(t, owner(), p, undisturbed)
	if got := buy(t, second, "a"); got != shop.AlreadyOrdered {
		t.Errorf("a in a process that was started later: %s", got)
	}
	for user, s := range map[string]shop.Strategy{"b": first, "c": second} {
		if got := buy(t, s, user); got != shop.Accepted {
			t.Errorf("%s: %s, want the last unit sold once by each process", user, got)
		}
	}
	if all, err := orders(t.Context(), p); err != nil || len(all) != 3 {
		t.Errorf("%d orders (%v), want 3 for 2 units", len(all), err)
	}
}
