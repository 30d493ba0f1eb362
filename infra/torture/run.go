package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"flashsale/infra/books"
	"flashsale/infra/client"
	"flashsale/infra/local/child"
)

// callTime bounds one request; a dead stack can keep nobody longer.
const callTime = 15 * time.Second

// config says how hard and how long.
type config struct {
	rounds         int           // 0: as many as limit allows
	limit          time.Duration // begin no round after; 0: none
	seed           uint64
	root           string
	sales, buyers  int // sales at a time, buyers of each
	chaos          time.Duration
	killAtResponse float64 // 0 to 1
}

// summary is what it came to.
type summary struct{ rounds, kills, accepted, violations int }

func (s summary) String() string {
	return fmt.Sprintf("rounds=%d kills=%d accepted=%d violations=%d", s.rounds, s.kills, s.accepted, s.violations)
}

// run tortures one machine, round by round, until a round finds violations.
// Then, and when something fails, it keeps the machine's data.
func run(ctx context.Context, c config, out io.Writer) (sum summary, err error) {
	fmt.Fprintf(out, "seed=%d\n", c.seed)
	m, err := newMachine(c.root, c.killAtResponse)
	if err != nil {
		return sum, err
	}
	defer func() {
		err = errors.Join(err, m.stop())
		if keep := sum.violations > 0 || err != nil && ctx.Err() == nil; keep {
			fmt.Fprintf(out, "data and logs are kept in %s\n", m.dir)
		} else {
			err = errors.Join(err, os.RemoveAll(m.dir))
		}
	}()
	for _, p := range []*child.Program{m.queues, m.stack} {
		if err := m.start(ctx, p); err != nil {
			return sum, err
		}
	}
	t := &tally{out: out, sum: &sum, begun: time.Now()}
	chance := rand.New(rand.NewPCG(c.seed, 0))
	n := &nemesis{machine: m, chance: rand.New(rand.NewPCG(c.seed, 1)), kills: map[string]int{}}
	n.problem = func(format string, a ...any) {
		// Ctrl-C in a terminal ends the children, too.
		if ctx.Err() == nil {
			t.problem(format, a...)
		}
	}
	api := client.New(m.at.API, client.Options{Lambda: m.at.Lambda, Timeout: callTime, Connections: c.sales * c.buyers})
	defer api.Close()
	var events []*event
	for i := 1; (c.rounds == 0 || i <= c.rounds) && (c.limit == 0 || time.Since(t.begun) < c.limit); i++ {
		r := &round{client: api, table: newTable(m.at.DynamoDB), nemesis: n}
		for k := range c.sales {
			r.events = append(r.events, newEvent(chance, fmt.Sprintf("round-%d-sale-%d", i, k), c.buyers, c.chaos))
		}
		events = append(events, r.events...)
		problems, err := r.run(ctx, chance, c.chaos)
		if ctx.Err() != nil {
			return sum, nil // asked to stop: an unfinished round proves nothing
		}
		if err != nil {
			t.problem("round %d: %v", i, err)
		}
		for _, p := range problems {
			t.problem("%s", p)
		}
		t.end(i, r, n.kills, m)
		if sum.violations > 0 {
			return sum, nil
		}
	}
	return sum, t.last(ctx, m, events)
}

// last reads the table once more: what later rounds did must have changed
// nothing of earlier sales, and there must be no others.
func (t *tally) last(ctx context.Context, m *machine, events []*event) error {
	all, err := books.Read(ctx, newTable(m.at.DynamoDB), tableName)
	if err != nil {
		return err
	}
	made := map[string]bool{}
	for _, e := range events {
		made[e.id] = true
		for _, p := range e.audit(ctx, all) {
			t.problem("in the end, %s: %s", e.id, p)
		}
	}
	for _, saleID := range all.Sales() {
		if !made[saleID] {
			t.problem("the table has a sale %q that nobody made (P13)", saleID)
		}
	}
	return nil
}

// shown is how many violations are printed: what breaks a promise once tends to
// break it a thousand times.
const shown = 40

// tally counts and reports.
type tally struct {
	out   io.Writer
	sum   *summary
	begun time.Time
}

func (t *tally) problem(format string, a ...any) {
	if t.sum.violations++; t.sum.violations <= shown {
		fmt.Fprintf(t.out, "VIOLATION "+format+"\n", a...)
	}
}

// end reports a round; kills are those since the beginning.
func (t *tally) end(i int, r *round, kills map[string]int, m *machine) {
	// The stack's own log tells of the functions that it kills at their answer.
	log, _ := os.ReadFile(filepath.Join(m.dir, "stack.log"))
	kills["answering"] = bytes.Count(log, []byte("killed at its response"))
	t.sum.rounds, t.sum.kills = i, 0
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(kills)) {
		t.sum.kills += kills[kind]
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, kills[kind]))
	}
	accepted, refused, units := 0, 0, int64(0)
	for _, e := range r.events {
		accepted += len(e.told.claims)
		refused += len(e.told.refusals)
		units += e.seeded()
	}
	t.sum.accepted += accepted
	fmt.Fprintf(t.out, "round %d: %d of %d units sold, %d times sold out; after %v killed: %s\n",
		i, accepted, units, refused, time.Since(t.begun).Round(time.Second), strings.Join(kinds, ", "))
}
