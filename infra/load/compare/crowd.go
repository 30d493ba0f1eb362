package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// purchases enumerates the purchases of a crowd: every user buys once in every sale.
type purchases struct {
	sales, users []string
	next         atomic.Int64
}

// take returns the next purchase; ok is false when there are no more.
func (p *purchases) take() (sale, user int, ok bool) {
	n := int(p.next.Add(1) - 1)
	return n / len(p.users), n % len(p.users), n < len(p.sales)*len(p.users)
}

var errUsedUp = errors.New("every buyer has bought in every sale: use more users or a shorter round")

// sold is the result of a crowd: the number of successful purchases, the time they took and
// the CPU time they used.
type sold struct {
	orders int
	took   time.Duration
	spent  usage
}

// crowd runs this many concurrent callers, which buy one unit after another for a duration.
func crowd(ctx context.Context, callers int, d time.Duration, p *purchases, buy func(ctx context.Context, sale, user int) error) (sold, error) {
	before, start := usageNow(), time.Now()
	timed, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var done atomic.Int64
	failures := make(chan error, callers)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for timed.Err() == nil {
				s, u, ok := p.take()
				if !ok {
					failures <- errUsedUp
					return
				}
				// Not the timed context: a purchase that has begun is measured to its end.
				if err := buy(ctx, s, u); err != nil {
					failures <- fmt.Errorf("buy: %w", err)
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	select {
	case err := <-failures:
		return sold{}, err
	default:
		return sold{int(done.Load()), took, usageNow().since(before)}, ctx.Err()
	}
}

// perSecond is the rate of n events in the time that the crowd took.
func (s sold) perSecond(n int) float64 { return float64(n) / s.took.Seconds() }
