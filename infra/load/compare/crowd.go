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

// crowd lets so many callers buy one after the other for a while, and returns
// how many purchases ended well and how long that took.
func crowd(ctx context.Context, callers int, d time.Duration, p *purchases, buy func(ctx context.Context, sale, user int) error) (int, time.Duration, error) {
	start := time.Now()
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
		return 0, took, err
	default:
		return int(done.Load()), took, ctx.Err()
	}
}

func perSecond(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }
