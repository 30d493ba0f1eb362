// Package inprocess holds the strategies that protect the stock inside one
// process: a goroutine that owns it, in the one application server where that is
// right, and a mutex in each of three, where it cannot be: what excludes
// goroutines does not exclude processes.
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
	all := []shop.Spec{owner(), mutex()}
	for i := range all {
		all[i].Family, all[i].Prepare, all[i].Orders = "in-process", prepare, orders
	}
	return all
}

func prepare(_ context.Context, p shop.Place) error { return newStore(p).setStock(p.Stock) }

func orders(_ context.Context, p shop.Place) ([]shop.Order, error) { return newStore(p).orders() }
