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

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/local/child"
	"flashsale/infra/local/launch"
)

// callTime bounds one request, in case the stack is dead.
const callTime = 15 * time.Second

// config holds the intensity and the length of a run.
type config struct {
	rounds         int           // 0: as many as limit allows
	limit          time.Duration // start no round after this time; 0: no limit
	seed           uint64
	root           string        // the project's folder, with .build in it
	release        string        // program in place of ReleaseFunction's: that of package ahead
	sales, buyers  int           // concurrent sales; buyers of each, half of them in the one that asks for payment
	chaos          time.Duration // how long each round kills processes
	killAtResponse float64       // the share of answers at which the function is killed
}

// summary is the result of a run.
type summary struct {
	rounds, kills, accepted, resent, paid, released, refunds int
	events, repeats                                          int64 // published, and published again
	violations                                               int
}

func (s summary) String() string {
	return fmt.Sprintf("rounds=%d kills=%d accepted=%d resent=%d paid=%d released=%d refunds=%d events=%d repeats=%d violations=%d",
		s.rounds, s.kills, s.accepted, s.resent, s.paid, s.released, s.refunds, s.events, s.repeats, s.violations)
}

// run runs rounds on one machine until a round finds violations. After violations
// and after errors it keeps the machine's data.
func run(ctx context.Context, c config, out io.Writer) (sum summary, err error) {
	fmt.Fprintf(out, "seed=%d\n", c.seed)
	m, err := newMachine(c.root, c.release, c.killAtResponse)
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
		// Ctrl-C in a terminal also ends the children, so errors after it mean nothing.
		if ctx.Err() == nil {
			t.problem(format, a...)
		}
	}
	api := client.New(m.at.API, client.Options{Lambda: m.at.Lambda, Timeout: callTime, Connections: c.sales * c.buyers})
	defer api.Close()
	var sales []*testSale
	for i := 1; (c.rounds == 0 || i <= c.rounds) && (c.limit == 0 || time.Since(t.begun) < c.limit); i++ {
		r := &round{client: api, table: launch.Table(m.at.DynamoDB), nemesis: n}
		for k := range c.sales {
			buyers, asksForPayment := c.buyers, k == 0
			if asksForPayment {
				buyers = (buyers + 1) / 2 // each makes about twice the requests
			}
			r.sales = append(r.sales, newTestSale(chance, fmt.Sprintf("round-%d-sale-%d", i, k), buyers, c.chaos, asksForPayment))
		}
		sales = append(sales, r.sales...)
		problems, err := r.run(ctx, chance, c.chaos)
		if ctx.Err() != nil {
			return sum, nil // interrupted: an unfinished round proves nothing
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
	return sum, t.auditAgain(ctx, m, sales)
}

// countEnds counts how the orders of a sale ended, and whose message reconcile sent again.
func (t *tally) countEnds(s *books.Sale) {
	for _, c := range s.Claims {
		if c.Resent() {
			t.sum.resent++
		}
		switch c.State() {
		case "PAID":
			t.sum.paid++
		case "EXPIRED", "CANCELLED":
			t.sum.released++
		}
	}
	t.sum.refunds += len(s.Refunds)
}

// auditAgain reads the table once more: later rounds must not have changed earlier sales, and
// there must be no other sales.
func (t *tally) auditAgain(ctx context.Context, m *machine, sales []*testSale) error {
	all, err := books.Read(ctx, launch.Table(m.at.DynamoDB), tableName)
	if err != nil {
		return err
	}
	made := map[string]bool{}
	for _, e := range sales {
		made[e.id] = true
		t.countEnds(all.Sale(e.id))
		for _, p := range e.audit(ctx, all) {
			t.problem("in the end, %s: %s", e.id, p)
		}
	}
	for _, saleID := range all.Sales() {
		if !made[saleID] {
			t.problem("the table has a sale %q that was never created (P13)", saleID)
		}
	}
	return t.published(ctx, launch.Table(m.at.DynamoDB), filepath.Join(m.dir, "data", "events.jsonl"))
}

// published waits until every event that the table stands for is in the file of the bus
// (P26), ordersTime at most. A check that has begun then is finished: it is the verdict.
func (t *tally) published(ctx context.Context, db books.DynamoDB, file string) error {
	for began := time.Now(); ; {
		r, err := books.CheckEvents(ctx, db, tableName, file, "", books.Options{Overdue: books.AtOnce})
		switch {
		case err != nil:
			return err
		case !r.Complete && time.Since(began) < ordersTime && pause(ctx, readPause):
			continue
		}
		t.sum.events, t.sum.repeats = r.Published, r.Repeated
		for _, f := range r.Findings {
			t.problem("in the end, of the events: %v", f)
		}
		return nil
	}
}

// shown is how many violations are printed: one fault tends to break a promise a thousand
// times.
const shown = 40

// tally counts and prints results.
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

// end prints a round's results; kills counts from the start of the run.
func (t *tally) end(i int, r *round, kills map[string]int, m *machine) {
	// The stack's log has a line for each function killed at its answer.
	log, _ := os.ReadFile(filepath.Join(m.dir, "stack.log"))
	kills["answering"] = bytes.Count(log, []byte("killed at its response"))
	t.sum.rounds, t.sum.kills = i, 0
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(kills)) {
		t.sum.kills += kills[kind]
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, kills[kind]))
	}
	accepted, refused, units := 0, 0, int64(0)
	for _, e := range r.sales {
		winners, refusals := e.answers.Count()
		accepted += winners
		refused += refusals
		units += e.seeded()
	}
	t.sum.accepted += accepted
	fmt.Fprintf(t.out, "round %d: %d of %d units sold, %d sold-out answers; killed in the first %v: %s\n",
		i, accepted, units, refused, time.Since(t.begun).Round(time.Second), strings.Join(kinds, ", "))
}
