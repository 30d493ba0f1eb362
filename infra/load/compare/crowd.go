package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// purchases counts through a crowd: every user buys once in every sale.
type purchases struct {
	sales, users []string
	next         atomic.Int64
}

// take names the next purchase; ok is false when everybody has everything.
func (p *purchases) take() (sale, user int, ok bool) {
	n := int(p.next.Add(1) - 1)
	return n / len(p.users), n % len(p.users), n < len(p.sales)*len(p.users)
}

var errUsedUp = errors.New("every buyer has bought: take more users or a shorter round")

// sold is what a crowd did: how many purchases ended well, how long that took
// and the processor time it cost.
type sold struct {
	orders int
	took   time.Duration
	spent  usage
}

// crowd lets so many callers buy one after the other for a while.
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
				// Not the timed context: what has begun is measured to its end.
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

// perSecond is the rate of n things in the time the crowd took.
func (s sold) perSecond(n int) float64 { return float64(n) / s.took.Seconds() }
