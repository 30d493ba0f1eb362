// Package speed measures how many orders a second are accepted by the whole local stack and, beside it,
// by strategies of the lab behind one application server: for all the same closed loop of clients over
// HTTP, each order by another user, with ample stock, no pause and no accident but kill -9 at the end.
//
// Which orders there are is read from the store, as in every trial.
package speed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"flashsale/infra/lab/engines"
	"flashsale/infra/lab/shop"
	"flashsale/infra/lab/tally"
	"flashsale/infra/local/child"
	"flashsale/infra/local/scratch"
)

const (
	// Ours is the whole local stack among the strategies' names.
	Ours = "flashsale"
	// stock is never sold out.
	stock = 400_000
	// A warm-up before each round, and the load at whose end everything is killed, last this share of it.
	aside = 5
	// written bounds how long orders may follow their answers.
	written = time.Minute
)

// media are what stores keep their files in: a folder in memory, and the system's temporary files.
var media = []string{"memory", "disk"}

type Options struct {
	// Program is what application servers are started from: it must call fleet.Host.
	Program string
	// Engines say where engines are found; Dir and Memory are set here.
	Engines    engines.Options
	Strategies []shop.Spec
	Clients    int
	Duration   time.Duration // of one round of one row
	Rounds     int
	// Measured gets each round of each row.
	Measured func(Row)
}

// Row is one contender, in one round or in that of its median speed.
type Row struct {
	Name, Medium string
	// Why says why it was not run, or did not hold.
	Why string
	// Accepted and Finished are orders a second: until the last answer, and until nothing follows any more.
	Accepted, Finished float64
	// Servers and Engines are processor time an order, until then; 0 if it cannot be told. What the clients
	// use is not in it.
	Servers, Engines time.Duration
	P50Ms, P99Ms     float64
	Verdict          tally.Verdict
	// Asked and Lost are orders that were accepted just before everything was killed, after the last round,
	// and those that are gone.
	Asked, Lost int
}

// Run measures all rows, in turn, as often as there are rounds.
func Run(ctx context.Context, o Options) (rows []Row, err error) {
	o.Strategies = append([]shop.Spec{{Name: Ours}}, o.Strategies...)
	rounds := make([][]Row, len(media)*len(o.Strategies))
	memory, err := scratch.Open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, memory.Remove()) }()
	disk, err := os.MkdirTemp("", "flashsale-lab-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(disk)) }()
	pools, dirs := make([]*engines.Pool, len(media)), []string{memory.Path, disk}
	for i := range media {
		own := o.Engines
		own.Dir, own.Memory = dirs[i], i == 0
		pools[i] = engines.NewPool(own)
		defer pools[i].Stop()
	}
	for n := range o.Rounds {
		for i := range rounds {
			m, spec := i/len(o.Strategies), o.Strategies[i%len(o.Strategies)]
			one := measurement{Options: o, spec: spec, pool: pools[m], memory: m == 0, last: n == o.Rounds-1,
				place: shop.Place{Sale: fmt.Sprint("speed-", n), Stock: stock, Dir: dirs[m]}}
			row := Row{Verdict: tally.NotRun}
			if m == 0 && memory.Why != nil {
				row.Why = memory.Why.Error()
			} else if row, err = one.run(ctx); cmp.Or(ctx.Err(), err) != nil {
				return nil, fmt.Errorf("%s: %w", spec.Name, cmp.Or(ctx.Err(), err))
			}
			row.Name, row.Medium = spec.Name, media[m]
			o.Measured(row)
			rounds[i] = append(rounds[i], row)
		}
	}
	for _, all := range rounds {
		last := all[len(all)-1]
		slices.SortFunc(all, func(a, b Row) int { return cmp.Compare(a.Accepted, b.Accepted) })
		m := all[len(all)/2]
		m.Asked, m.Lost = last.Asked, last.Lost
		if i := slices.IndexFunc(all, func(r Row) bool { return r.Verdict != tally.Holds }); i >= 0 {
			m.Verdict, m.Why = all[i].Verdict, all[i].Why
		}
		rows = append(rows, m)
	}
	return rows, nil
}

type measurement struct {
	Options
	spec  shop.Spec
	pool  *engines.Pool
	place shop.Place
	// memory says where, last that it is the last round.
	memory, last bool
	came         int // buyers so far
}

func (m *measurement) run(ctx context.Context) (row Row, err error) {
	var c contender
	if m.spec.Name == Ours {
		data := "" // in memory, by default
		if !m.memory {
			data = filepath.Join(m.place.Dir, m.place.Sale)
		}
		c, err = openStack(ctx, m.Engines.Root, data, m.place, m.Clients)
	} else {
		c, err = openRival(ctx, m.Program, m.spec, m.place, m.pool)
	}
	if missing, ok := errors.AsType[*engines.MissingError](err); ok {
		return Row{Verdict: tally.NotRun, Why: missing.Error()}, nil
	} else if err != nil {
		return row, fmt.Errorf("start: %w", err)
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	before, _, err := m.load(ctx, c, m.Duration/aside)
	if err != nil {
		return row, err
	}
	answers, atRest, err := m.load(ctx, c, m.Duration)
	if err != nil {
		return row, err
	}
	done := rested(ctx)
	timed, n := tally.Of(stock, nil, answers), len(answers)
	row = Row{
		Accepted: timed.PerSecond, P50Ms: timed.P50Ms, P99Ms: timed.P99Ms, Finished: float64(n) / done.since.Sub(atRest.since).Seconds(),
		Servers: (done.servers - atRest.servers) / time.Duration(n), Engines: (done.engines - atRest.engines) / time.Duration(n),
	}
	count, err := holds(ctx, slices.Concat(before, answers), c.orders)
	if row.Verdict, row.Why = count.Judge(nil); row.Verdict == tally.Holds {
		row.Why = ""
	}
	if err == nil && m.last {
		row.Asked, row.Lost, err = m.kill(ctx, c)
	}
	return row, err
}

// load lets clients buy for so long, as many as are expected, and finish what they have begun. It begins at rest:
// a token's signature costs as much as an order.
func (m *measurement) load(ctx context.Context, c contender, how time.Duration) (all []tally.Answer, atRest usage, failed error) {
	most, err := c.expect(ctx, m.came, max(m.Clients, int(expected*how.Seconds())))
	if err != nil {
		return nil, atRest, err
	}
	atRest = rested(ctx)
	begun := time.Now()
	atRest.since = begun
	first := m.came
	var mu sync.Mutex
	var clients sync.WaitGroup
	next := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		m.came++
		return m.came - 1, m.came <= first+most && time.Since(begun) < how && ctx.Err() == nil
	}
	for range m.Clients {
		clients.Go(func() {
			for n, ok := next(); ok; n, ok = next() {
				sent := time.Now()
				outcome, err := c.buy(ctx, n)
				a := tally.Answer{User: user(n), Outcome: outcome, Took: time.Since(sent), Ended: time.Since(begun)}
				mu.Lock()
				all, failed = append(all, a), cmp.Or(failed, err)
				mu.Unlock()
			}
		})
	}
	clients.Wait()
	if slices.ContainsFunc(all, func(a tally.Answer) bool { return a.Outcome == shop.Accepted }) {
		failed = nil // the verdict counts those who got no answer
	}
	return all, atRest, cmp.Or(ctx.Err(), failed)
}

func user(n int) string { return fmt.Sprintf("buyer-%07d", n) }

// holds waits until each accepted order is written, and holds the orders against the answers. Orders that are
// read while they are written may seem to have no claim.
func holds(ctx context.Context, answers []tally.Answer, orders func(context.Context) ([]shop.Order, error)) (tally.Count, error) {
	for limit := time.Now().Add(written); ; time.Sleep(restPoll) {
		all, err := orders(ctx)
		count := tally.Of(stock, all, answers)
		if err == nil && count.Lost == 0 || time.Now().After(limit) || ctx.Err() != nil {
			return count, err
		}
	}
}

// kill kills everything at the end of a load, and counts what was accepted then and is there after a new start.
func (m *measurement) kill(ctx context.Context, c contender) (asked, lost int, err error) {
	answers, _, err := m.load(ctx, c, m.Duration/aside)
	if err != nil {
		return 0, 0, err
	}
	answers = slices.DeleteFunc(answers, func(a tally.Answer) bool { return a.Outcome != shop.Accepted })
	kept, err := c.crash(ctx)
	count := tally.Of(stock, kept, answers)
	return len(answers), count.Lost, err
}

const (
	// Linux counts processor time in hundredths of a second.
	tick = 10 * time.Millisecond
	// The processes are at rest when they use less than restUse in restPoll; they get restLimit for it.
	restPoll, restUse = 100 * time.Millisecond, 20 * time.Millisecond
	restLimit         = 30 * time.Second
)

// usage is processor time until an instant: of the engines, and of the application servers or the stack.
type usage struct {
	servers, engines time.Duration
	since            time.Time
}

// add adds what the processes below one have used, with their children that have ended; elsewhere than on
// Linux nothing.
func (u *usage) add(parent int) {
	children, _ := child.Children(parent)
	for _, c := range children {
		to := &u.servers
		switch filepath.Base(c.Program()) {
		case "postgres", "redis-server", "redis-check-rdb", "mariadbd", "mysqld", "dynoxide": // Debian's redis-server is a link
			to = &u.engines
		}
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Pid)); err == nil { // else it has ended
			// After the name in parentheses: user and system time, its own and those of children it has waited for.
			fields := strings.Fields(string(stat)[strings.LastIndexByte(string(stat), ')')+1:])
			for _, ticks := range fields[11:15] {
				n, _ := strconv.Atoi(ticks)
				*to += time.Duration(n) * tick
			}
		}
		u.add(c.Pid)
	}
}

// rested waits until what follows the answers is done, and says since when it is.
func rested(ctx context.Context) (now usage) {
	now.add(os.Getpid())
	now.since = time.Now()
	for limit := now.since.Add(restLimit); now.since.Before(limit) && ctx.Err() == nil; {
		time.Sleep(restPoll)
		later := usage{since: now.since}
		later.add(os.Getpid())
		step := later.servers + later.engines - now.servers - now.engines
		if now = later; step < restUse {
			break
		}
		now.since = time.Now()
	}
	return now
}
