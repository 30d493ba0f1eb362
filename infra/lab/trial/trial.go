// Package trial runs one strategy through one scenario: it lays out the sale,
// starts the application servers, lets the crowd click, makes the accidents
// happen, and has the result counted from the strategy's durable store.
//
// It treats every strategy alike.
package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"flashsale/infra/lab/engines"
	"flashsale/infra/lab/fleet"
	"flashsale/infra/lab/scenario"
	"flashsale/infra/lab/shop"
	"flashsale/infra/lab/tally"
)

const (
	// Orders may follow an answer: a queue drains. They are waited for until the
	// strategy says that none is left to write and their number stands still, at
	// most drainLimit: the time after which our own reconciliation sends a lost
	// message again, and half as much.
	drainPoll  = 50 * time.Millisecond
	drainLimit = 45 * time.Second
)

type Lab struct {
	// Program is what application servers are started from: it must call
	// fleet.HostIfAsked.
	Program string
	// Dir is a folder for the trials' own.
	Dir     string
	Engines *engines.Pool
}

// Run runs one trial. A missing engine is no error but a row that says so; an
// error means that the trial itself did not work.
func (l *Lab) Run(ctx context.Context, spec shop.Spec, sc scenario.Scenario, seed uint64) (Row, error) {
	row := Row{
		Strategy: spec.Name, Family: spec.Family, Scenario: sc.Name, Seed: seed, Count: tally.Count{Stock: sc.Stock},
		Run: fmt.Sprintf("make lab STRATEGY=%s SCENARIO=%s SEED=%d", spec.Name, sc.Name, seed),
	}
	running, err := l.Engines.Get(ctx, spec.Needs)
	if missing, ok := errors.AsType[*engines.MissingError](err); ok {
		row.Verdict, row.Why = tally.NotRun, missing.Error()
		return row, nil
	}
	if err != nil {
		return row, err
	}
	dir, err := os.MkdirTemp(l.Dir, "sale-")
	if err != nil {
		return row, fmt.Errorf("make folder: %w", err)
	}
	place := shop.Place{Sale: "lab-" + filepath.Base(dir), Stock: sc.Stock, Dir: dir}
	for _, e := range running {
		e.Describe(&place)
	}
	count, accidents, err := l.sell(ctx, spec, sc, seed, place, running)
	if err != nil {
		return row, fmt.Errorf("%s in %s: %w", spec.Name, sc.Name, errors.Join(err, os.RemoveAll(dir)))
	}
	row.Count = count
	row.Verdict, row.Why = count.Judge(accidents)
	return row, os.RemoveAll(dir)
}

// sell is the sale from the layout to the count.
func (l *Lab) sell(ctx context.Context, spec shop.Spec, sc scenario.Scenario, seed uint64, place shop.Place, running []engines.Engine) (tally.Count, []string, error) {
	if spec.Prepare != nil {
		if err := spec.Prepare(ctx, place); err != nil {
			return tally.Count{}, nil, fmt.Errorf("prepare: %w", err)
		}
	}
	n := newNemesis(ctx, spec, sc, running)
	seen := place
	if sc.Meets(scenario.LoseAnswers) {
		var err error
		if seen, n.lossy, err = between(place); err != nil {
			return tally.Count{}, nil, err
		}
		defer n.lossy.close()
	}
	c := &crowd{scenario: sc, seed: seed}
	f, err := fleet.Start(ctx, fleet.Options{
		Program: l.Program, Spec: spec, Place: seen, Seed: seed, Slow: sc.Slow,
		Stops: n.stops, OnStop: n.at, CheckTime: c.checkTime,
	})
	if err != nil {
		return tally.Count{}, nil, err
	}
	defer f.Stop()
	n.fleet = f
	answers := c.run(ctx, f, n)
	accidents, err := n.rest()
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return tally.Count{}, nil, err
	}
	// An order by itself says that something went right: without any, an error
	// that every buyer met is worth more than the verdict.
	count, err := drained(ctx, spec, place, f, answers)
	if err == nil && count.Sold == 0 && len(accidents) == 0 {
		err = c.failed
	}
	return count, accidents, err
}

// drained counts the orders once none is still to be written.
func drained(ctx context.Context, spec shop.Spec, place shop.Place, f *fleet.Fleet, answers []tally.Answer) (tally.Count, error) {
	limit := time.Now().Add(drainLimit)
	for last := -1; ; {
		waiting, backlogErr := f.Backlog(ctx)
		orders, err := spec.Orders(ctx, place)
		if err != nil {
			return tally.Count{}, fmt.Errorf("count orders: %w", err)
		}
		idle := backlogErr == nil && waiting == 0 && len(orders) == last
		if last = len(orders); idle || time.Now().After(limit) {
			return tally.Of(place.Stock, orders, answers), nil
		}
		select {
		case <-time.After(drainPoll):
		case <-ctx.Done():
			return tally.Count{}, ctx.Err()
		}
	}
}

type Row struct {
	Strategy string `json:"strategy"`
	Family   string `json:"family"`
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	tally.Count
	Verdict tally.Verdict `json:"verdict"`
	// Why is one sentence, made from what was measured.
	Why string `json:"why"`
	// Expected reports whether the verdict is one that the lab expects.
	Expected bool `json:"expected"`
	// Run is the command that repeats the row.
	Run string `json:"run"`
}
