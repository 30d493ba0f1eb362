package scenario

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"time"
)

// Click is one buyer's wish at one moment.
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
		spread := s.Spread
		if c.Later {
			spread = s.LaterSpread
		}
		c.After = time.Duration(random.Int64N(int64(spread)))
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
			return cmp.Compare(btoi(a.Later), btoi(b.Later))
		}
		return cmp.Compare(a.After, b.After)
	})
	return all
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
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
