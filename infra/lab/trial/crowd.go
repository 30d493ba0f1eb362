package trial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/infra/lab/fleet"
	"flashsale/infra/lab/scenario"
	"flashsale/infra/lab/shop"
	"flashsale/infra/lab/tally"
)

// A buyer without a decision clicks again after a while.
const (
	againLeast = 20 * time.Millisecond
	againMost  = 60 * time.Millisecond
)

// crowd are the buyers of one trial.
type crowd struct {
	scenario scenario.Scenario
	seed     uint64
	opening  atomic.Int64 // Unix nanoseconds; 0 before

	mu     sync.Mutex
	failed error // the first failed page
}

// checkTime is how long the user service takes now.
func (c *crowd) checkTime(user string) time.Duration {
	return c.scenario.CheckTime(c.seed, user, time.Since(time.Unix(0, c.opening.Load())))
}

// rush lets everybody click and returns when everybody has an answer or has
// lost patience. The nemesis is told of every answer to those who came first,
// and says when the others may come.
func (c *crowd) rush(ctx context.Context, f *fleet.Fleet, n *nemesis) []tally.Answer {
	clicks := c.scenario.Crowd(c.seed)
	first := 0
	for _, click := range clicks {
		if !click.Later {
			first++
		}
	}
	answers := make([]tally.Answer, len(clicks))
	opening := time.Now()
	c.opening.Store(opening.UnixNano())
	var done atomic.Int64
	var buyers sync.WaitGroup
	for i, click := range clicks {
		buyers.Go(func() {
			if click.Later {
				wait(ctx, n.settled)
				wait(ctx, time.After(click.After))
			} else {
				wait(ctx, time.After(time.Until(opening.Add(click.After))))
			}
			answers[i] = c.insist(ctx, f, click, i, opening)
			if !click.Later {
				n.answered(int(done.Add(1)), first)
			}
		})
	}
	buyers.Wait()
	return answers
}

// wait returns when something comes or ctx ends.
func wait[T any](ctx context.Context, c <-chan T) {
	select {
	case <-c:
	case <-ctx.Done():
	}
}

// insist clicks until there is a decision or the patience is over.
func (c *crowd) insist(ctx context.Context, f *fleet.Fleet, click scenario.Click, turn int, opening time.Time) tally.Answer {
	begun := time.Now()
	ctx, cancel := context.WithDeadline(ctx, begun.Add(c.scenario.Patience))
	defer cancel()
	random := rand.New(rand.NewPCG(click.Seed, 2))
	a := tally.Answer{User: click.User}
	for ; ; turn++ {
		outcome, err := f.Buy(ctx, click.User, turn)
		if err != nil {
			c.note(err)
		} else {
			now := time.Now()
			a.Outcome, a.Took, a.Ended = outcome, now.Sub(begun), now.Sub(opening)
			if outcome != shop.Busy {
				return a
			}
		}
		select {
		case <-time.After(againLeast + time.Duration(random.Int64N(int64(againMost-againLeast)))):
		case <-ctx.Done():
			return a
		}
	}
}

// note keeps the first failed page that says something. Servers that are down
// and patience that is over are no failures of the strategy's code.
func (c *crowd) note(err error) {
	if errors.Is(err, fleet.ErrNoServer) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = err
	}
}

func (c *crowd) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// peakDrain is how long orders that follow their answer are waited for.
const peakDrain = 30 * time.Second

// peak measures how many orders are accepted and how many are durable.
func peak(ctx context.Context, spec shop.Spec, sc scenario.Scenario, place shop.Place, f *fleet.Fleet) (tally.Count, error) {
	begun := time.Now()
	p, err := f.Peak(ctx, sc.Buyers, sc.Peak)
	if err != nil {
		return tally.Count{}, err
	}
	if len(p.Times) == 0 {
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
	slices.Sort(p.Times)
	n := len(orders)
	return tally.Count{
		Stock: place.Stock, Sold: n, Oversold: max(0, n-place.Stock), Lost: max(0, len(p.Times)-n),
		PerSecond: float64(len(p.Times)) / answered.Seconds(), P50: tally.Percentile(p.Times, 50), P99: tally.Percentile(p.Times, 99),
		DurablePerSecond: float64(n) / done.Seconds(), DurableAfter: done - answered,
	}, nil
}
