package model

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// opensAt is when every modelled sale opens. Order ids count from 2023, and a
// bubble's clock starts long before.
var opensAt = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

// Virtually runs f in virtual time, from any program: sleeping costs nothing, and time
// advances when all goroutines wait. It must be called at most once per process outside
// tests, and ends the process with the code f returns.
//
// Virtual time is part of the testing package, which other programs can only enter by
// testing.Main; it must not see this program's arguments.
func Virtually(arguments *[]string, f func(*testing.T) int, exit func(int)) {
	*arguments = (*arguments)[:1]
	all := func(string, string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "virtually", F: func(t *testing.T) { exit(f(t)) }}}, nil, nil)
}

// In is Run in its own bubble.
func In(t *testing.T, c Config) (r Result, err error) {
	synctest.Test(t, func(*testing.T) { r, err = Run(c) })
	return r, err
}

// Run simulates one sale from its opening until everybody has an answer and every order
// is confirmed. It must be called inside a testing/synctest bubble. It fails if the
// configuration is invalid, or the sale cannot be seeded.
func Run(c Config) (Result, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return Result{}, err
	}
	time.Sleep(time.Until(opensAt) - time.Minute)
	n := &tally{left: c.Stock}
	n.counts.refusedReads = map[string]int{}
	t := newTable(c, n)
	if err := seed(c, t); err != nil {
		return Result{}, err
	}
	time.Sleep(time.Until(opensAt))
	n.counts.opened = opensAt
	t.limits = newLimits(c, opensAt)
	t.applyLimits()
	q := newQueue(c, n)
	if !c.NoFinalize {
		q.run(t)
	}
	f := newFleet(c, t, q, n)
	people := &crowd{config: c, table: t, fleet: f, tally: n, random: newRandomSource(c.Seed, 2), opened: opensAt}
	people.arrive()
	q.drain(10 * time.Minute)
	return result(c, n, t, f, people), nil
}

// seed creates the sale before the limits apply, because it is not measured.
func seed(c Config, t *table) error {
	creation := sale.Creation{
		SaleID: saleID, Name: saleID, OpensAt: opensAt, ClosesAt: opensAt.Add(24 * time.Hour), Stock: c.Stock, Shards: c.Shards,
	}
	if err := creation.Check(); err != nil {
		return fmt.Errorf("seed model: %w", err)
	}
	busy := t.db.Busy
	t.db.Busy = 0
	defer func() { t.db.Busy = busy }()
	if _, err := ledger.New(t.db, tableName, ledger.Options{}).Create(context.Background(), creation); err != nil {
		return fmt.Errorf("seed model: %w", err)
	}
	return nil
}
