package inprocess

import (
	"context"

	"flashsale/infra/lab/shop"
)

// owner gives stock and buyers to one goroutine; requests reach them through a
// channel only. It is right as long as there is one owner: a second process has
// a second one.
func owner() shop.Spec {
	return shop.Spec{
		Name: "channel-owner", Servers: 1,
		Does: "one goroutine owns the stock, requests are sent to it",
		Flaw: "there is one owner per process: it cannot be scaled out",
		Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) {
			o := &desk{host: h, store: newStore(h.Place), requests: make(chan request), closed: make(chan struct{})}
			sold, err := o.store.orders()
			if err != nil {
				return nil, err
			}
			go o.own(sold)
			return o, nil
		},
	}
}

type request struct {
	ctx    context.Context
	user   string
	answer chan answer // has room for the answer, so the owner never waits
}

type answer struct {
	outcome shop.Outcome
	err     error
}

type desk struct {
	host     shop.Host
	store    *store
	requests chan request
	closed   chan struct{}
}

// Close ends the owner.
func (d *desk) Close() error {
	close(d.closed)
	return nil
}

// Buy asks the owner.
func (d *desk) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	if err := d.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	r := request{ctx, user, make(chan answer, 1)}
	select {
	case d.requests <- r:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	a := <-r.answer
	return a.outcome, a.err
}

// own is the only code that touches stock and buyers.
func (d *desk) own(sold []shop.Order) {
	left := d.host.Stock - len(sold)
	buyers := map[string]bool{}
	for _, o := range sold {
		buyers[o.User] = true
	}
	for {
		var r request
		select {
		case r = <-d.requests:
		case <-d.closed:
			return
		}
		switch {
		case buyers[r.user]:
			r.answer <- answer{outcome: shop.AlreadyOrdered}
			continue
		case left <= 0:
			r.answer <- answer{outcome: shop.SoldOut}
			continue
		}
		d.host.At(r.ctx, shop.Taken)
		err := d.store.record(r.user)
		if err == nil {
			left--
			buyers[r.user] = true
			d.host.At(r.ctx, shop.Recorded)
		}
		r.answer <- answer{shop.Accepted, err}
	}
}
