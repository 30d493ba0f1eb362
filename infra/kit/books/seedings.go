package books

import (
	"fmt"
	"maps"
	"slices"
)

// seeding is one addition or withdrawal.
type seeding struct {
	announced bool
	seedItem
	shards map[int]receipt  // an addition's, by shard
	steps  map[int]stepItem // a withdrawal's, by their number
}

func (h *header) seeding(id string) *seeding {
	if h.seeds[id] == nil {
		h.seeds[id] = &seeding{shards: map[int]receipt{}, steps: map[int]stepItem{}}
	}
	return h.seeds[id]
}

func sum(units map[int]int64) (all int64) {
	for _, n := range units {
		all += n
	}
	return all
}

// all returns the units seeded in total, less those withdrawn.
func (h *header) all() int64 { return h.create.Stock + sum(h.added) - sum(h.withdrawn) }

// room returns bounds of how many more units could be added between the reads of the
// two headers.
func (p *pass) room() (low, high int64) {
	announced := func(h *header) (units int64) {
		for _, s := range h.seeds {
			units += max(0, s.Units)
		}
		return units
	}
	free := p.after.create.MaxStock - p.after.create.Stock
	return free - announced(&p.after) + sum(p.before.withdrawn), free - announced(&p.before) + sum(p.after.withdrawn)
}

// seeded returns bounds of the units seeded at any instant of the pass: the totals of
// additions and of withdrawals only grow.
func (p *pass) seeded() (low, high int64) {
	return p.before.create.Stock + sum(p.before.added) - sum(p.after.withdrawn),
		p.after.create.Stock + sum(p.after.added) - sum(p.before.withdrawn)
}

// given is the same for one shard.
func (p *pass) given(k int) (low, high int64) {
	return share(p.before.create.Stock, k, p.n) + p.before.added[k] - p.after.withdrawn[k],
		share(p.after.create.Stock, k, p.n) + p.after.added[k] - p.before.withdrawn[k]
}

// sources is the format of where units came from.
const sources = "created with %d + %d added - %d withdrawn"

// judgeSeedings checks that each addition gave each shard its share, once, and that no
// withdrawal took more than requested.
func (p *pass) judgeSeedings(h *header) {
	future := p.Now().Add(skew).UnixMilli()
	for _, id := range slices.Sorted(maps.Keys(h.seeds)) {
		s := h.seeds[id]
		p.checkLabels("seed "+id, fmt.Sprintf("%q", id), s.Labels)
		switch {
		case !s.announced && len(s.steps) > 0:
			p.find("P15", "seed "+id, "withdrawal %q has %d steps, but its own item SEED#%s is missing: a repeat would go on with any number of units",
				id, len(s.steps), id)
			continue
		case !s.announced:
			p.find("P15", "seed "+id, "addition %q has receipts of %d shards, but its own item SEED#%s is missing: a repeat would apply it with any number of units",
				id, len(s.shards), id)
			continue
		case s.Units > 0 && len(s.steps) > 0 || s.Units < 0 && len(s.shards) > 0:
			p.find("P15", "seed "+id, "%q is an addition or a withdrawal, but has receipts of both", id)
		case s.At > future:
			p.find("P15", "seed at "+id, "addition %q was made at %s, which is in the future", id, clock(s.At))
		}
		if s.Units < 0 {
			p.judgeWithdrawal(id, s, future)
		} else {
			p.judgeAddition(id, s, future)
		}
	}
}

func (p *pass) judgeAddition(id string, s *seeding, future int64) {
	due := 0
	for k := range p.n {
		if share(s.Units, k, p.n) > 0 {
			due++
		}
	}
	for _, k := range slices.Sorted(maps.Keys(s.shards)) {
		one, about := s.shards[k], fmt.Sprintf("seed %s %d", id, k)
		switch want := share(s.Units, k, max(p.n, 1)); {
		case k >= p.n:
			p.find("P15", about, "addition %q has a receipt of shard %d, but the sale has %d shards", id, k, p.n)
		case one.Units != want:
			p.find("P15", about, "addition %q of %d units gave shard %d %d of them, should be %d", id, s.Units, k, one.Units, want)
		case one.At > future || one.At < s.At-skew.Milliseconds():
			p.find("P15", about, "addition %q was made at %s, but reached shard %d at %s", id, clock(s.At), k, clock(one.At))
		}
	}
	done := len(s.shards)
	p.unfinishIf(done < due, "addition %q has reached %d of %d shards: it is under way or was cut off; repeat it", id, done, due)
}

func (p *pass) judgeWithdrawal(id string, s *seeding, future int64) {
	asked, taken, ended := -s.Units, int64(0), false
	for i, n := range slices.Sorted(maps.Keys(s.steps)) {
		one, about := s.steps[n], fmt.Sprintf("seed %s %d", id, n)
		switch {
		case n != i:
			p.find("P15", about, "withdrawal %q has a step %d, but no step %d", id, n, i)
		case ended || taken >= asked:
			p.find("P15", about, "withdrawal %q of %d units has a step %d after its end", id, asked, n)
		case one.Shard >= p.n:
			p.find("P15", about, "withdrawal %q took units from shard %d, but the sale has %d shards", id, one.Shard, p.n)
		case one.At > future || one.At < s.At-skew.Milliseconds():
			p.find("P15", about, "withdrawal %q was made at %s, but its step %d at %s", id, clock(s.At), n, clock(one.At))
		}
		taken, ended = taken+one.Units, ended || one.Ended
	}
	switch {
	case taken > asked:
		p.find("P15", "seed units "+id, "withdrawal %q of %d units took %d: %d too many", id, asked, taken, taken-asked)
	case taken < asked && !ended:
		p.unfinish("withdrawal %q has taken %d of %d units: it is under way or was cut off; repeat it", id, taken, asked)
	}
}
