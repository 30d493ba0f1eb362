package inprocess

import (
	"context"

	"flashsale/infra/lab/shop"
)

// semaphore holds one permit per unit: who gets one buys, who gets none goes
// home. It counts units and not buyers, so one buyer's clicks that come at once
// all get one. When a process starts again it has as many permits as there are
// units without an order.
func semaphore() shop.Spec {
	return shop.Spec{
		Name: "semaphore",
		Does: "a semaphore with one permit per unit",
		Flaw: "it counts units, not buyers: clicks that come at once each take a permit",
		Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) {
			s := &permits{host: h, store: newStore(h.Place)}
			sold, err := s.store.orders()
			if err != nil {
				return nil, err
			}
			s.left = make(chan struct{}, h.Stock)
			for range h.Stock - len(sold) {
				s.left <- struct{}{}
			}
			return s, nil
		},
	}
}

type permits struct {
	host  shop.Host
	store *store
	left  chan struct{}
}

// Buy takes a permit if there is one and keeps it with the order.
func (p *permits) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	if has, err := p.store.has(user); err != nil || has {
		return shop.AlreadyOrdered, err
	}
	if err := p.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	select {
	case <-p.left:
	default:
		return shop.SoldOut, nil
	}
	p.host.At(ctx, shop.Taken)
	if err := p.store.record(user); err != nil {
		p.left <- struct{}{}
		return "", err
	}
	p.host.At(ctx, shop.Recorded)
	return shop.Accepted, nil
}
