package trial

import (
	"context"
	"errors"
	"math/rand/v2"
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

type crowd struct {
	scenario scenario.Scenario
	seed     uint64
	opening  atomic.Int64 // Unix nanoseconds; 0 before

	mu     sync.Mutex
	failed error // the first failed page; to be read when all have come
}

// checkTime is how long the user service takes now.
func (c *crowd) checkTime(user string) time.Duration {
	return c.scenario.CheckTime(c.seed, user, time.Since(time.Unix(0, c.opening.Load())))
}

// run lets everybody click and returns when everybody has an answer or has
// lost patience. The nemesis is told of every answer to those who came first,
// and says when the others may come.
func (c *crowd) run(ctx context.Context, f *fleet.Fleet, n *nemesis) []tally.Answer {
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

func wait[T any](ctx context.Context, c <-chan T) {
	select {
	case <-c:
	case <-ctx.Done():
	}
}

// insist clicks until there is a decision or the patience is over.
func (c *crowd) insist(ctx context.Context, f *fleet.Fleet, click scenario.Click, number int, opening time.Time) tally.Answer {
	begun := time.Now()
	ctx, cancel := context.WithDeadline(ctx, begun.Add(c.scenario.Patience))
	defer cancel()
	random := rand.New(rand.NewPCG(click.Seed, 2))
	a := tally.Answer{User: click.User}
	for ; ; number++ {
		outcome, err := f.Buy(ctx, click.User, number)
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
