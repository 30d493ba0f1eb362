package estimate

import (
	"maps"
	"math"
)

// environment is one execution environment with its cached state of the shards.
type environment struct {
	readAt float64
	avoid  map[int]bool // closed, or found empty
	listed map[int]bool // closed, according to its last read
	// closed is how many shards are closed or were found empty before a consistent read.
	closed int
	// failures counts failed reads, and until is when it reads again.
	failures int
	until    float64
	known    bool // it has read the sale
	certain  bool // by a consistent read
}

func newEnvironment() *environment { return &environment{readAt: -1e9, avoid: map[int]bool{}} }

// look reads the sale if the environment's snapshot is older than snapshotAge, or than
// tailAge when some shards are closed. An environment with a snapshot tries once, and
// after a failure pauses for 30 ms, doubled each time, at most half a second; one without
// a snapshot uses all its tries.
func (w *world) look(e *environment, then func()) {
	gone, age, left := e.closed == w.Shards, snapshotAge, 1
	if e.closed > 0 && !gone {
		age = tailAge
	}
	switch {
	case !e.known:
		left = tries
	case w.now-e.readAt < age && (!gone || e.certain), w.now < e.until:
		then()
		return
	}
	w.read(e, e.closed > 0, left, func(bool) { then() })
}

// read reads the sale; an eventually consistent read takes half a unit.
func (w *world) read(e *environment, consistent bool, left int, then func(ok bool)) {
	units := 0.5
	if consistent {
		units = 1
	}
	began, took := w.now, w.spread(read, 3)
	w.after(callCPU*slowdown+took/2, func() {
		ok, listed := w.reads.take(w.now, units), maps.Clone(w.closed)
		w.after(took/2, func() {
			switch {
			case ok:
				e.failures /= 2
				e.learn(listed, began, consistent)
			case left > 1:
				w.after(w.backOff(tries-left), func() { w.read(e, consistent, left-1, then) })
				return
			default:
				e.until = w.now + min(0.5, tailAge*math.Pow(2, float64(e.failures)))
				e.failures++
			}
			then(ok)
		})
	})
}

// learn accepts what a read or a closing showed. A consistent one confirms that the shards
// that the environment found empty before are empty, because nothing is restocked.
func (e *environment) learn(listed map[int]bool, at float64, consistent bool) {
	e.listed, e.readAt, e.known, e.certain = listed, at, true, consistent
	maps.Copy(e.avoid, listed)
	e.closed = max(e.closed, len(listed))
	if consistent {
		e.closed = len(e.avoid)
	}
}

// close records an empty shard in the sale item, unless a read shows that it is recorded
// already. known: the environment knows from the table that it is recorded. Otherwise the
// shard counts as a try with a pause: without the sale item the environment would try
// shard after shard.
func (w *world) close(e *environment, k int, then func(known bool)) {
	e.avoid[k] = true
	if w.now-e.readAt < newsAge {
		w.record(e, k, tries, then)
		return
	}
	unread := func() {
		if w.random.Float64() < blind {
			w.record(e, k, tries, then)
		} else {
			then(false) // most environments leave it to others
		}
	}
	if w.now < e.until {
		unread()
		return
	}
	w.read(e, true, 1, func(ok bool) {
		switch {
		case !ok:
			unread()
		case e.listed[k]:
			then(true)
		default:
			w.record(e, k, tries, then)
		}
	})
}

// record writes that a shard is empty. The answer shows the others that are.
func (w *world) record(e *environment, k, left int, then func(known bool)) {
	began, took := w.now, w.spread(write, 3)
	w.after(callCPU*slowdown+took/2, func() {
		ok := w.writes.take(w.now, 1) && w.units.take(w.now, 1)
		if ok {
			w.closed[k] = true
			w.WriteUnits++
		}
		listed := maps.Clone(w.closed)
		w.after(took/2, func() {
			switch {
			case ok:
				e.learn(listed, began, true)
			case left > 1:
				w.after(w.backOff(tries-left), func() { w.record(e, k, left-1, then) })
				return
			}
			then(ok)
		})
	})
}
