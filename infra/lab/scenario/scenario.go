// Package scenario holds the crowds and the accidents that every strategy
// meets: how many come for how much, how slow the user service is, and what is
// killed or added when.
//
// It contains no strategy and no engine. All chance comes from the seed, so a
// scenario can be repeated.
package scenario

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"flashsale/infra/lab/fleet"
	"flashsale/infra/lab/shop"
)

// Scenario is one crowd and what happens to it.
type Scenario struct {
	// Name is unique, of a-z and '-'; Does says in one line what happens.
	Name, Does string
	// Stock units and so many Buyers, who arrive within Within of the opening.
	Stock, Buyers int
	Within        time.Duration
	// Later buyers come when every fault has happened and what it broke is up
	// again, within LaterWithin of that: how long a process takes to start must
	// not decide what is seen.
	Later       int
	LaterWithin time.Duration
	// Pairs: each of the Buyers wants two units, and the later ones want one.
	Pairs bool
	// Clicks is how often the first buyer clicks at the opening, all at once; 0
	// or 1 is a buyer like all others.
	Clicks int
	// Ahead is how long the buyer of many clicks is there before anybody else:
	// the clicks then meet each other, and not a queue of different lengths.
	Ahead time.Duration
	// Check is the least that a user check takes; 0 means a millisecond. It
	// takes up to 2 ms more.
	Check time.Duration
	// SlowFor is how long after the opening the user service is slow: each
	// check takes longer than shop.LockTTL.
	SlowFor time.Duration
	// Slow are passings of a point that take longer.
	Slow   []fleet.Slow
	Faults []Fault
	// Patience is how long a buyer clicks again when there is no decision.
	Patience time.Duration
}

type Action string

const (
	// KillServer kills an application server and starts it again.
	KillServer Action = "kill server"
	// KillEngine kills the first engine and starts it again.
	KillEngine Action = "kill engine"
	// LoseAnswers lets the engines do what they are asked, and cuts the connection
	// under some of their answers.
	LoseAnswers Action = "lose answers"
	// FreezeServer stops an application server, as a full garbage collection or
	// a moved virtual machine does, for longer than shop.LockTTL, and lets it go
	// on where it was.
	FreezeServer Action = "freeze server"
	AddServer    Action = "add server"
)

// Fault happens once, at the first of its triggers.
type Fault struct {
	Do   Action
	When []Trigger
}

// Trigger is a moment. If it has no point, it is the moment at which the share,
// 0 to 1, of those who came first has been answered.
type Trigger struct {
	// Server passes the point for the Pass-th time since it was started. A
	// strategy with fewer servers has this one's number modulo theirs. Of a
	// trigger by share it is the server that is killed.
	Server int
	fleet.Stop
	Share float64
}

func at(server int, p shop.Point, pass int) Trigger {
	return Trigger{Server: server, Stop: fleet.Stop{Point: p, Pass: pass}}
}

// answered is the moment of a share of answers.
func answered(server int, share float64) Trigger { return Trigger{Server: server, Share: share} }

// Applies tells whether a strategy can meet the scenario: it has what breaks there, and sells what is asked for.
func (s *Scenario) Applies(spec *shop.Spec) bool {
	lacks := map[Action]bool{KillEngine: len(spec.Needs) == 0, LoseAnswers: len(spec.Needs) == 0}
	return s.Pairs == spec.Pairs && !slices.ContainsFunc(s.Faults, func(f Fault) bool { return lacks[f.Do] })
}

// Meets tells whether it is among the faults.
func (s *Scenario) Meets(a Action) bool {
	return slices.ContainsFunc(s.Faults, func(f Fault) bool { return f.Do == a })
}

type Click struct {
	User string
	// After is when it comes, counted from the opening, or if it is Later from
	// when everything is up again.
	After time.Duration
	Later bool
	// Seed makes the buyer's own chance: how long until the next try.
	Seed uint64
}

// Crowd are the scenario's clicks in the order in which they come.
func (s *Scenario) Crowd(seed uint64) []Click {
	random := rand.New(rand.NewPCG(seed, 1))
	var all []Click
	for i := range s.Buyers + s.Later {
		c := Click{User: fmt.Sprintf("buyer-%03d", i), Later: i >= s.Buyers}
		within := s.Within
		switch {
		case c.Later:
			within = s.LaterWithin
		case s.Pairs:
			c.User = fmt.Sprintf("%s%03d", shop.Pair, i)
		}
		c.After = time.Duration(random.Int64N(int64(within)))
		clicks := 1
		switch {
		case s.Clicks > 1 && i == 0:
			c.After, clicks = 0, s.Clicks
		case s.Clicks > 1 && !c.Later:
			c.After += s.Ahead
		}
		for range clicks {
			c.Seed = random.Uint64()
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b Click) int {
		if a.Later != b.Later {
			return map[bool]int{true: 1, false: -1}[a.Later]
		}
		return cmp.Compare(a.After, b.After)
	})
	return all
}

// A user check takes a few milliseconds, and at a slow opening far longer than
// a lock lasts: in the incident more than its ten seconds.
const (
	quickLeast  = time.Millisecond
	quickSpread = 2 * time.Millisecond
	slowLeast   = 500 * time.Millisecond
	slowSpread  = 150 * time.Millisecond
)

// CheckTime is how long the user service takes for a user that long after the
// opening.
func (s *Scenario) CheckTime(seed uint64, user string, since time.Duration) time.Duration {
	h := fnv.New64a()
	_, _ = io.WriteString(h, user)
	random := rand.New(rand.NewPCG(seed, h.Sum64()))
	if since < s.SlowFor {
		return slowLeast + time.Duration(random.Int64N(int64(slowSpread)))
	}
	return max(quickLeast, s.Check) + time.Duration(random.Int64N(int64(quickSpread)))
}
