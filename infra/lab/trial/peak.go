package trial

import (
	"context"
	"errors"
	"fmt"
	"time"

	"flashsale/infra/lab/fleet"
	"flashsale/infra/lab/scenario"
	"flashsale/infra/lab/shop"
	"flashsale/infra/lab/tally"
)

// peakDrain is how long orders that follow their answer are waited for.
const peakDrain = 30 * time.Second

// peak measures how many orders are accepted and how many are durable.
func peak(ctx context.Context, spec shop.Spec, sc scenario.Scenario, place shop.Place, f *fleet.Fleet) (tally.Count, error) {
	begun := time.Now()
	p, err := f.Peak(ctx, sc.Buyers, sc.Peak)
	if err != nil {
		return tally.Count{}, err
	}
	if p.Accepted == 0 {
		return tally.Count{}, errors.New("nobody bought: " + p.First)
	}
	answered := time.Since(begun)
	done := answered
	for waiting := 1; ; {
		if waiting, err = f.Backlog(ctx); err == nil && waiting == 0 || time.Since(begun) > answered+peakDrain || ctx.Err() != nil {
			break
		}
		time.Sleep(drainPoll)
		done = time.Since(begun)
	}
	orders, err := spec.Orders(ctx, place)
	if err != nil {
		return tally.Count{}, fmt.Errorf("count orders: %w", err)
	}
	n := len(orders)
	return tally.Count{
		Stock: place.Stock, Sold: n, Oversold: max(0, n-place.Stock), Lost: max(0, p.Accepted-n),
		PerSecond: float64(p.Accepted) / answered.Seconds(), P50: p.Percentile(50), P99: p.Percentile(99),
		DurablePerSecond: float64(n) / done.Seconds(), DurableAfter: done - answered,
	}, nil
}
