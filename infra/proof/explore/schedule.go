package explore

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"testing/synctest"
	"time"
)

// schedule makes a simulation reproducible on any number of processors: every goroutine
// continues at an instant of its own, so one runs at a time, in an order determined by
// the seed alone.
//
// A goroutine that wants to continue requests a wake-up and waits. When every goroutine of
// the bubble waits, all those requested at this instant are sorted by name,
// independently of the order of the requests, and only then each gets a random instant.
// So goroutines that wake together (from a channel, or from timers of the code under
// test) may run in parallel up to their next request, and must not draw random numbers
// until then.
type schedule struct {
	mu      sync.Mutex
	chance  *rand.Rand
	waiting []*wakeup
	taken   map[int64]bool // instants in use, in nanoseconds
	asked   chan struct{}  // holds a token while somebody waits
	stop    chan struct{}
}

// wakeup is one goroutine's request to continue.
type wakeup struct {
	// group, then name order wake-ups of the same instant. Two with the same name
	// must be interchangeable.
	group int
	name  string
	// draw draws how long to wait, and any other random values that the goroutine needs.
	draw func(*rand.Rand) time.Duration
	// limit is the last instant that makes sense; zero means any.
	limit time.Time
	at    chan time.Time
}

// newSchedule starts a schedule in the caller's bubble; close stop to end it when no
// more wake-ups will be requested.
func newSchedule(seed uint64) *schedule {
	s := &schedule{
		chance: rand.New(rand.NewPCG(seed, 0x666c617368)), taken: map[int64]bool{},
		asked: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	go s.run()
	return s
}

func (s *schedule) run() {
	for {
		select {
		case <-s.asked:
		case <-s.stop:
			return
		}
		synctest.Wait() // all wake-ups of this instant have been requested
		s.mu.Lock()
		all := s.waiting
		s.waiting = nil
		slices.SortStableFunc(all, func(a, b *wakeup) int {
			return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.name, b.name))
		})
		for _, t := range all {
			t.at <- s.instant(t)
		}
		s.mu.Unlock()
	}
}

// instant assigns an unused instant to a wake-up. s.mu is held.
func (s *schedule) instant(t *wakeup) time.Time {
	at := time.Now().Add(max(1, t.draw(s.chance)))
	if !t.limit.IsZero() && at.After(t.limit) {
		at = t.limit
	}
	if now := time.Now(); !at.After(now) {
		at = now.Add(1)
	}
	for s.taken[at.UnixNano()] {
		at = at.Add(1)
	}
	s.taken[at.UnixNano()] = true
	return at
}

// pass waits until the goroutine may continue.
func (s *schedule) pass(group int, name string, limit time.Time, draw func(*rand.Rand) time.Duration) {
	t := &wakeup{group: group, name: name, draw: draw, limit: limit, at: make(chan time.Time, 1)}
	s.mu.Lock()
	s.waiting = append(s.waiting, t)
	s.mu.Unlock()
	select {
	case s.asked <- struct{}{}:
	default:
	}
	at := <-t.at
	time.Sleep(time.Until(at))
	s.mu.Lock()
	delete(s.taken, at.UnixNano())
	s.mu.Unlock()
}

// wait waits for at least d, until the next unused instant.
func (s *schedule) wait(name string, d time.Duration) {
	s.pass(0, name, time.Time{}, func(*rand.Rand) time.Duration { return d })
}

// draw draws random values for the goroutine that runs.
func draw[T any](s *schedule, from func(*rand.Rand) T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return from(s.chance)
}

// random is uniform in [0,1), for the goroutine that runs.
func (s *schedule) random() float64 { return draw(s, (*rand.Rand).Float64) }

// between is uniform in [from, to).
func between(r *rand.Rand, from, to time.Duration) time.Duration {
	if to <= from {
		return from
	}
	return from + time.Duration(r.Int64N(int64(to-from)))
}
