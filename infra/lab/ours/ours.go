// Package ours holds this project's own system as strategies: the ledger called
// directly, with and without an Idempotency-Key of the client's. It meets the same buyers and
// accidents as all others.
//
// What was sold is read from the raw table, with no code of what wrote it: the
// orders that exist once every claim that can get one has it.
package ours

import (
	"context"
	"fmt"
	"sync"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/lab/shop"
	"flashsale/infra/local/engine"
	"flashsale/shared/clock"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

func Specs() []shop.Spec {
	none := direct("")
	none.Name += "-no-key"
	none.Does += ", without an Idempotency-Key"
	none.Flaw = "a winner whose answer was lost and who asks again is told \"sold out\" when the table has no room for a read at that moment"
	two := direct("lab")
	two.Name, two.Pairs = two.Name+"-two", true
	two.Does = "orders of one or two: one DynamoDB transaction takes them from a stock shard that has as many, or from several"
	two.Prepare = func(ctx context.Context, p shop.Place) error { return create(ctx, p, 2) }
	return []shop.Spec{direct("lab"), none, two}
}

// maxShards is how many shards a sale gets if it has as many units.
const maxShards = 4

// What sets a sale up and reads its books may be repeated: it changes nothing.
// It must be, because the AWS client now and then closes a connection under an
// answer that it is reading, and makes one attempt here.
const (
	tries = 3
	pause = 20 * time.Millisecond
)

// again repeats what may be repeated until it succeeds.
func again(ctx context.Context, do func() error) (err error) {
	for range tries {
		if err = do(); err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(pause)
	}
	return err
}

// direct calls the ledger: one DynamoDB transaction takes a unit and records
// its buyer, or does neither. The user check may be as slow as it likes; nothing
// is held while it runs. A queue in memory takes the place of SQS, and loses what
// waits in it when its process dies; whoever asks for the backlog does what the
// reconcile function does: finish the claims that were left.
func direct(key string) shop.Spec {
	return shop.Spec{
		Name: "ours-ledger", Family: "ours", Orders: Orders, Needs: []shop.Need{shop.DynamoDB},
		Does:    "one DynamoDB transaction: stock shard > 0 minus one, and the user's claim if absent",
		Prepare: func(ctx context.Context, p shop.Place) error { return create(ctx, p, 0) },
		Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) {
			l := &ledgered{
				host: h, ledger: ledger.New(engine.Client(h.DynamoDB), h.Table, ledger.Options{Now: clock.Wall}), key: key,
				accepted: make(chan ledger.ClaimRef, 1<<20),
			}
			l.worker.Go(l.confirm)
			return l, nil
		},
	}
}

// create seeds the sale as the seed function does; maxPerOrder is 0 for orders of one unit.
func create(ctx context.Context, p shop.Place, maxPerOrder int) error {
	now := time.Now()
	c := sale.Creation{
		SaleID: p.Sale, Name: "lab", OpensAt: now.Add(-time.Minute), ClosesAt: now.Add(time.Hour),
		Stock: int64(p.Stock), Shards: min(p.Stock, maxShards), MaxPerOrder: maxPerOrder,
	}
	l := ledger.New(engine.Client(p.DynamoDB), p.Table, ledger.Options{})
	return again(ctx, func() error {
		_, err := l.Create(ctx, c)
		return err
	})
}

type ledgered struct {
	host     shop.Host
	ledger   *ledger.Ledger
	key      string // of every purchase, "" for none
	accepted chan ledger.ClaimRef
	worker   sync.WaitGroup
}

func (l *ledgered) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	if err := l.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	p, err := l.ledger.Purchase(ctx, ledger.Request{SaleID: l.host.Sale, User: user, Key: l.key, Units: int64(shop.Units(user))})
	if err != nil {
		switch sale.CodeOf(err) {
		case sale.AlreadyOrdered:
			return shop.AlreadyOrdered, nil
		case sale.SoldOut, sale.NotEnough, sale.Closed:
			return shop.SoldOut, nil
		case sale.Busy, sale.TooManyRequests:
			return shop.Busy, nil
		}
		return "", fmt.Errorf("purchase: %w", err)
	}
	l.host.At(ctx, shop.Recorded)
	if p.New {
		l.accepted <- ledger.ClaimRef{SaleID: l.host.Sale, User: user, ClaimID: p.Claim.ID, Buckets: p.Claim.Buckets}
	}
	return shop.Accepted, nil
}

// batch is what the finalize function gets of its queue at once.
const batch = 25

// confirm gives claims their orders, batch by batch. What fails is left to whoever
// asks for the backlog.
func (l *ledgered) confirm() {
	for ref := range l.accepted {
		l.host.At(context.Background(), shop.Queued)
		refs := []ledger.ClaimRef{ref}
		for len(refs) < batch && len(l.accepted) > 0 {
			if ref, open := <-l.accepted; open {
				refs = append(refs, ref)
			}
		}
		l.ledger.Confirm(context.Background(), refs)
	}
}

// Backlog finishes the claims that nobody else does, and tells how many there were.
func (l *ledgered) Backlog(ctx context.Context) (int, error) {
	if n := len(l.accepted); n > 0 {
		return n, nil
	}
	s, err := readSale(ctx, l.host.Place)
	if err != nil {
		return 0, err
	}
	var refs []ledger.ClaimRef
	for _, c := range s.Unfinished() {
		refs = append(refs, ledger.ClaimRef{SaleID: l.host.Sale, User: c.User, ClaimID: c.ClaimID})
	}
	l.ledger.Confirm(ctx, refs)
	return len(refs), nil
}

func (l *ledgered) Close() error {
	close(l.accepted)
	l.worker.Wait()
	return nil
}

// Claimed are the users who have a unit: what was accepted, with its order or still without.
func Claimed(ctx context.Context, p shop.Place) ([]shop.Order, error) {
	s, err := readSale(ctx, p)
	if err != nil {
		return nil, err
	}
	var users []string
	for _, c := range s.Claims {
		users = append(users, c.User)
	}
	return shop.OrdersOf(users), nil
}

// Orders are the sale's order items. One without a claim of the same user would
// be units that nobody took, and is an error, as is one of other units than the user wants.
func Orders(ctx context.Context, p shop.Place) ([]shop.Order, error) {
	s, err := readSale(ctx, p)
	if err != nil {
		return nil, err
	}
	claims := map[string]books.Claim{}
	for _, c := range s.Claims {
		claims[c.ClaimID] = c
	}
	var all []shop.Order
	for id, o := range s.Orders {
		if c := claims[o.ClaimID]; c.User != o.User || c.OrderID != id || c.Count() != int64(shop.Units(o.User)) {
			return nil, fmt.Errorf("count orders: order %s of %s has no claim of its units", id, o.User)
		}
		all = append(all, shop.Order{User: o.User})
	}
	return all, nil
}

func readSale(ctx context.Context, p shop.Place) (s *books.Sale, err error) {
	err = again(ctx, func() error {
		read, err := books.Read(ctx, engine.Client(p.DynamoDB), p.Table)
		if err == nil {
			s = read.Sale(p.Sale)
		}
		return err
	})
	return s, err
}
