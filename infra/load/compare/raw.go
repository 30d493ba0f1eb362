package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// raw is the engine with nothing but the SDK before it.
type raw struct {
	o      options
	client *dynamodb.Client
	table  string
	users  []string
	made   int
}

// recorder is a client whose transactions are kept instead of sent: they are
// exactly what the ledger writes for a purchase.
type recorder struct {
	*dynamodb.Client
	mu       sync.Mutex
	recorded *dynamodb.TransactWriteItemsInput
}

func (r *recorder) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recorded = in
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

// order is a purchase ready to be sent.
type order struct {
	ref   ledger.ClaimRef
	input *dynamodb.TransactWriteItemsInput
}

// prepare makes the sales and records the transactions of as many orders as
// there may be; the clock does not run yet.
func (r *raw) prepare(ctx context.Context) (*purchases, [][]order, error) {
	p := &purchases{users: r.users}
	rec := &recorder{Client: r.client}
	book := ledger.New(rec, r.table, ledger.Options{})
	orders := make([][]order, salesPerRound)
	for n := range orders {
		r.made++
		c := newSale(fmt.Sprintf("raw-%d", r.made), len(r.users))
		// The recorder would keep the seeding's transactions, too.
		if _, err := ledger.New(r.client, r.table, ledger.Options{}).Create(ctx, c); err != nil {
			return nil, nil, fmt.Errorf("make sale: %w", err)
		}
		p.sales = append(p.sales, c.SaleID)
		for _, user := range r.users {
			bought, err := book.Purchase(ctx, ledger.Request{SaleID: c.SaleID, User: user})
			if err != nil {
				return nil, nil, fmt.Errorf("record purchase: %w", err)
			}
			orders[n] = append(orders[n], order{ledger.ClaimRef{SaleID: c.SaleID, User: user, ClaimID: bought.Claim.ID}, rec.recorded})
		}
	}
	return p, orders, nil
}

// send writes one order as the ledger does: without a token.
func (r *raw) send(ctx context.Context, o order) error {
	_, err := r.client.TransactWriteItems(ctx, o.input, func(o *dynamodb.Options) { o.IdempotencyTokenProvider = nil })
	return err
}

// accept measures the transactions alone.
func (r *raw) accept(ctx context.Context, d time.Duration) (rates, error) {
	p, orders, err := r.prepare(ctx)
	if err != nil {
		return rates{}, err
	}
	n, took, err := crowd(ctx, r.o.callers, d, p, func(ctx context.Context, s, u int) error { return r.send(ctx, orders[s][u]) })
	return rates{accepted: perSecond(n, took)}, err
}

// both measures the transactions while the ledger confirms the orders in full
// batches, with no queue and no function between. The callers wait for the
// confirmers when these fall behind: both halves are as fast as the pair can be.
func (r *raw) both(ctx context.Context, d time.Duration) (rates, error) {
	p, orders, err := r.prepare(ctx)
	if err != nil {
		return rates{}, err
	}
	book := ledger.New(r.client, r.table, ledger.Options{})
	accepted := make(chan ledger.ClaimRef, r.o.batch)
	end := make(chan struct{})
	var finalized atomic.Int64
	failures := make(chan error, r.o.confirmers)
	var wg sync.WaitGroup
	for range r.o.confirmers {
		wg.Go(func() {
			for {
				batch := make([]ledger.ClaimRef, 0, r.o.batch)
				for len(batch) < r.o.batch {
					select {
					case ref := <-accepted:
						batch = append(batch, ref)
					case <-end:
						return
					}
				}
				if err := confirm(ctx, book, batch); err != nil {
					select {
					case failures <- err:
					default:
					}
				}
				finalized.Add(int64(len(batch)))
			}
		})
	}
	n, took, err := crowd(ctx, r.o.callers, d, p, func(ctx context.Context, s, u int) error {
		if err := r.send(ctx, orders[s][u]); err != nil {
			return err
		}
		select {
		case accepted <- orders[s][u].ref:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	done := int(finalized.Load())
	close(end)
	wg.Wait()
	select {
	case failure := <-failures:
		err = errors.Join(err, failure)
	default:
	}
	return rates{perSecond(n, took), perSecond(done, took)}, err
}

func confirm(ctx context.Context, book *ledger.Ledger, batch []ledger.ClaimRef) error {
	for _, c := range book.Confirm(ctx, batch) {
		if c.Err != nil {
			return fmt.Errorf("confirm: %w", c.Err)
		}
	}
	return nil
}

// salesPerRound times the users bounds the purchases of one measurement.
const salesPerRound = 12

// newSale is open, with a unit for everybody on every shard that they may hash
// to: no shard runs empty, on neither side.
func newSale(id string, users int) sale.Creation {
	now := time.Now().Truncate(time.Millisecond)
	return sale.Creation{
		SaleID: id, Name: "Comparison", OpensAt: now.Add(-time.Minute), ClosesAt: now.Add(time.Hour),
		Stock: int64(users * shards), Shards: shards,
	}
}

const shards = 16
