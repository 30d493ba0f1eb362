package ours

import (
	"context"
	"fmt"
	"sync"
	"time"

	"flashsale/infra/lab/shop"
	"flashsale/infra/local/engine"
	"flashsale/shared/clock"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// direct calls the ledger: one DynamoDB transaction takes a unit and records
// its buyer, or does neither. The user check may be as slow as it likes; nothing
// is held while it runs. A queue in memory takes the place of SQS, and loses what
// waits in it when its process dies; whoever asks for the backlog does what the
// reconcile function does: finish the claims that were left.
func direct(key nextKey) shop.Spec {
	return shop.Spec{
		Name: "ours-ledger", Needs: []shop.Need{shop.DynamoDB},
		Does:    "one DynamoDB transaction: stock shard > 0 minus one, and the user's claim if absent",
		Prepare: create,
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

// create seeds the sale as the seed function does.
func create(ctx context.Context, p shop.Place) error {
	now := time.Now()
	c := sale.Creation{
		SaleID: p.Sale, Name: "lab", OpensAt: now.Add(-time.Minute), ClosesAt: now.Add(time.Hour),
		Stock: int64(p.Stock), Shards: min(p.Stock, maxShards),
	}
	if err := c.Check(); err != nil {
		return fmt.Errorf("create sale: %w", err)
	}
	l := ledger.New(engine.Client(p.DynamoDB), p.Table, ledger.Options{})
	return again(ctx, func() error {
		if _, err := l.Create(ctx, c); err != nil {
			return fmt.Errorf("create sale: %w", err)
		}
		return nil
	})
}

type ledgered struct {
	host     shop.Host
	ledger   *ledger.Ledger
	key      nextKey
	accepted chan ledger.ClaimRef
	worker   sync.WaitGroup
}

// Buy claims a unit.
func (l *ledgered) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	if err := l.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	p, err := l.ledger.Purchase(ctx, ledger.Request{SaleID: l.host.Sale, User: user, Key: l.key()})
	if err != nil {
		return outcomeOf(sale.CodeOf(err), err)
	}
	l.host.At(ctx, shop.Recorded)
	if p.New {
		l.accepted <- ledger.ClaimRef{SaleID: l.host.Sale, User: user, ClaimID: p.Claim.ID, Buckets: p.Claim.Buckets}
	}
	return shop.Accepted, nil
}

// outcomeOf is what a buyer is told for a code.
func outcomeOf(code sale.Code, err error) (shop.Outcome, error) {
	switch code {
	case sale.AlreadyOrdered:
		return shop.AlreadyOrdered, nil
	case sale.SoldOut, sale.Closed:
		return shop.SoldOut, nil
	case sale.Busy, sale.TooManyRequests:
		return shop.Busy, nil
	}
	return "", fmt.Errorf("purchase: %w", err)
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
	claims, err := unfinished(ctx, l.host.Place)
	if err != nil || len(claims) == 0 {
		return 0, err
	}
	var refs []ledger.ClaimRef
	for _, c := range claims {
		refs = append(refs, ledger.ClaimRef{SaleID: l.host.Sale, User: c.User, ClaimID: c.ClaimID})
	}
	l.ledger.Confirm(ctx, refs)
	return len(claims), nil
}

// Close writes what waits.
func (l *ledgered) Close() error {
	close(l.accepted)
	l.worker.Wait()
	return nil
}
