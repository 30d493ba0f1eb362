package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// raw is the engine alone.
type raw struct {
	o       options
	address string
	client  *dynamodb.Client
	table   string
	users   []string
	made    int
}

// prepare makes the sales and records the transactions of all possible orders, before the
// measurement.
func (r *raw) prepare(ctx context.Context) (*purchases, [][]order, error) {
	p := &purchases{users: r.users}
	book := ledger.New(r.client, r.table, ledger.Options{})
	for range salesPerRound {
		r.made++
		c := newSale(fmt.Sprintf("raw-%d", r.made), len(r.users))
		if _, err := book.Create(ctx, c); err != nil {
			return nil, nil, fmt.Errorf("make sale: %w", err)
		}
		p.sales = append(p.sales, c.SaleID)
	}
	orders, errs := make([][]order, salesPerRound), make([]error, salesPerRound)
	var wg sync.WaitGroup
	for i, saleID := range p.sales {
		wg.Go(func() { orders[i], errs[i] = record(ctx, r.client, r.table, saleID, r.users) })
	}
	wg.Wait()
	return p, orders, errors.Join(errs...)
}

// accept measures only the transactions.
func (r *raw) accept(ctx context.Context, d time.Duration) (rates, error) {
	p, orders, err := r.prepare(ctx)
	if err != nil {
		return rates{}, err
	}
	w, err := dial(ctx, r.address, r.o.callers)
	if err != nil {
		return rates{}, err
	}
	defer w.close()
	got, err := crowd(ctx, r.o.callers, d, p, func(_ context.Context, s, u int) error {
		return w.send(orders[s][u].request, http.StatusOK)
	})
	return got.rates(0), err
}

// both measures the transactions while the ledger confirms the orders in full batches,
// without queue and functions. The callers wait when the confirmers fall behind, so the
// result is the highest rate that both can sustain.
func (r *raw) both(ctx context.Context, d time.Duration) (rates, error) {
	p, orders, err := r.prepare(ctx)
	if err != nil {
		return rates{}, err
	}
	w, err := dial(ctx, r.address, r.o.callers)
	if err != nil {
		return rates{}, err
	}
	defer w.close()
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
	got, err := crowd(ctx, r.o.callers, d, p, func(ctx context.Context, s, u int) error {
		if err := w.send(orders[s][u].request, http.StatusOK); err != nil {
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
	return got.rates(done), err
}

func confirm(ctx context.Context, book *ledger.Ledger, batch []ledger.ClaimRef) error {
	for _, c := range book.Confirm(ctx, batch) {
		if c.Err != nil {
			return fmt.Errorf("confirm: %w", c.Err)
		}
	}
	return nil
}

// salesPerRound times the number of users bounds the purchases of one measurement.
const salesPerRound = 12

// newSale is open and has a unit for every buyer on every shard, so that no shard runs empty
// on either side.
func newSale(id string, users int) sale.Creation {
	now := time.Now().Truncate(time.Millisecond)
	return sale.Creation{
		SaleID: id, Name: "Comparison", OpensAt: now.Add(-time.Minute), ClosesAt: now.Add(time.Hour),
		Stock: int64(users * shards), Shards: shards,
	}
}

// shards is the number of shards that the bare function assumes.
const shards = 16
