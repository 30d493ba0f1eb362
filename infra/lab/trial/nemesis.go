package trial

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/infra/lab/engines"
	"flashsale/infra/lab/fleet"
	"flashsale/infra/lab/scenario"
	"flashsale/infra/lab/shop"
)

// down is how long what was killed stays away: somebody has to notice.
const down = 100 * time.Millisecond

// A server stands still for frozen: a lock that nobody renews expires in it. It goes on,
// and a primary without its replica dies, when so many clicks were answered meanwhile, or at
// the latest after answeredLimit, where nobody can buy: a loaded machine must not hide what
// they did.
const (
	frozen            = 5 * shop.LockTTL / 2
	answeredMeanwhile = 5
	answeredLimit     = 3 * frozen
	answeredPoll      = 5 * time.Millisecond
)

// nemesis makes the accidents of one trial happen, each once.
type nemesis struct {
	ctx      context.Context
	scenario scenario.Scenario
	servers  int // at the opening
	engines  []engines.Engine
	fleet    *fleet.Fleet // set before the first click
	lossy    *lossy       // set before the first click if answers are to be lost

	repairs sync.WaitGroup
	done    atomic.Int64 // clicks answered of those who came first
	// settled is closed when all faults have happened and are repaired.
	settled chan struct{}

	mu      sync.Mutex
	fired   map[int]bool // by the fault's index
	pending int          // faults that are not repaired yet
	said    []string
	errs    []error
	over    bool
}

func newNemesis(ctx context.Context, spec shop.Spec, sc scenario.Scenario, running []engines.Engine) *nemesis {
	n := &nemesis{
		ctx: ctx, scenario: sc, servers: spec.ServerCount(), engines: running,
		settled: make(chan struct{}), fired: map[int]bool{}, pending: len(sc.Faults),
	}
	if n.pending == 0 {
		close(n.settled)
	}
	return n
}

// stops are the points at which a server asks: those of faults to come.
func (n *nemesis) stops(number int) []fleet.Stop {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []fleet.Stop
	for i, f := range n.scenario.Faults {
		for _, t := range f.When {
			if !n.fired[i] && t.Point != "" && t.Server%n.servers == number {
				all = append(all, t.Stop)
			}
		}
	}
	return all
}

// at is called when a server is at a stop. It returns when what had to happen
// to the purchase has happened.
func (n *nemesis) at(number int, s fleet.Stop) {
	for i, f := range n.scenario.Faults {
		for _, t := range f.When {
			if t.Stop == s && t.Server%n.servers == number && n.once(i) {
				n.strike(f.Do, number, fmt.Sprintf("at point %q", s.Point))
			}
		}
	}
}

// answered is called after the end of each click of those who came first: the
// last of them makes what has not happened yet happen.
func (n *nemesis) answered(done, of int) {
	n.done.Store(int64(done))
	for i, f := range n.scenario.Faults {
		for _, t := range f.When {
			if t.Point == "" && float64(done) >= t.Share*float64(of) && n.once(i) {
				n.strike(f.Do, t.Server%n.servers, fmt.Sprintf("after %d of %d answers", done, of))
			}
		}
	}
}

// once reports whether the fault is still to happen, and marks it.
func (n *nemesis) once(i int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fired[i] || n.over {
		return false
	}
	n.fired[i] = true
	n.repairs.Add(1) // under the lock, so that rest has it or it never happens
	return true
}

// strike does it at once and repairs it in the background.
func (n *nemesis) strike(do scenario.Action, number int, when string) {
	var repair func() error
	pause := down
	switch do {
	case scenario.KillServer:
		n.say(fmt.Sprintf("server %d killed %s", number, when))
		killed := n.fleet.Kill(number)
		repair = func() error {
			if !killed {
				return nil // it was down already, and somebody else repairs it
			}
			return n.fleet.Restart(n.ctx, number)
		}
	case scenario.LoseAnswers:
		n.say("answers lost " + when)
		n.lossy.begin()
		repair = func() error { return nil }
	case scenario.KillEngine:
		e := n.engines[0]
		n.say("engine killed " + when)
		before, begun := n.done.Load(), time.Now()
		if pause = e.Ail(); pause == 0 {
			pause = down
			e.Crash()
			repair = func() error { return e.Recover(n.ctx) }
			break
		}
		// It serves on for a while, and whoever is at the point with it.
		repair = func() error {
			n.awaitAnswers(before, begun)
			e.Crash()
			time.Sleep(down)
			return e.Recover(n.ctx)
		}
	case scenario.FreezeServer:
		n.say(fmt.Sprintf("server %d stood still %s", number, when))
		before, begun := n.done.Load(), time.Now()
		thaw, err := n.fleet.Freeze(number)
		repair = func() error {
			time.Sleep(frozen - down)
			n.awaitAnswers(before, begun)
			return errors.Join(err, thaw())
		}
	case scenario.AddServer:
		n.say("server added " + when)
		repair, pause = func() error { return n.fleet.Add(n.ctx) }, 0
	}
	go func() {
		defer n.repairs.Done()
		time.Sleep(pause)
		n.repaired(do, repair())
	}()
}

// awaitAnswers returns when some more clicks were answered than before, or at the limit.
func (n *nemesis) awaitAnswers(before int64, begun time.Time) {
	for n.done.Load() < before+answeredMeanwhile && time.Since(begun) < answeredLimit {
		time.Sleep(answeredPoll)
	}
}

// rest ends the accidents and returns what happened, in order, once everything is up again.
func (n *nemesis) rest() ([]string, error) {
	n.mu.Lock()
	n.over = true
	n.mu.Unlock()
	n.repairs.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.said, errors.Join(n.errs...)
}

func (n *nemesis) say(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.said = append(n.said, text)
}

func (n *nemesis) repaired(do scenario.Action, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		n.errs = append(n.errs, fmt.Errorf("%s: %w", do, err))
	}
	if n.pending--; n.pending == 0 {
		close(n.settled)
	}
}
