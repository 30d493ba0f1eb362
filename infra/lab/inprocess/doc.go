// Package inprocess holds the strategies that protect the stock inside one
// process: nothing, a mutex, a semaphore, a goroutine that owns it. Each runs in
// one application server, where it does what it is meant to do, and in three,
// where it cannot: what excludes goroutines does not exclude processes.
//
// The strategies use package sync and the shop's store, which can only read and
// write. They use no engine.
package inprocess

import (
	"context"

	"flashsale/infra/lab/shop"
)

// Specs are all strategies of the package.
func Specs() []shop.Spec {
	var all []shop.Spec
	for _, s := range []shop.Spec{unprotected(), mutex(), semaphore(), owner()} {
		all = append(all, in(s, 1), in(s, 3))
	}
	return all
}

const family = "in-process"

// in is the strategy in that many application servers.
func in(s shop.Spec, servers int) shop.Spec {
	s.Family, s.Servers, s.Prepare, s.Orders = family, servers, prepare, orders
	if servers > 1 {
		s.Name += "-x3"
		s.Does += ", in each of three processes"
		if s.Flaw != "" {
			s.Flaw += "; "
		}
		s.Flaw += "each process protects its own memory only"
	}
	return s
}

func prepare(_ context.Context, p shop.Place) error { return newStore(p).setStock(p.Stock) }

func orders(_ context.Context, p shop.Place) ([]shop.Order, error) { return newStore(p).orders() }
