// Package estimate plays the selling of a sale a second time, to check the plan.
//
// It is an event simulation that was written from README.md, infra/docs/GUARANTEES.md and
// AWS's documents. It shares no code with infra/model or with the functions, so a
// mistake in one of them shows as a difference between the two.
package estimate

import (
	"container/heap"
	"math"
	"math/rand/v2"
)

// What the documents say, in seconds unless named otherwise.
const (
	window      = 0.010 // a transaction keeps its items busy
	transaction = 0.020 // median
	read, write = 0.004, 0.006
	send        = 0.008
	coldStart   = 0.250
	eventCPU    = 0.0002 // on a whole processor
	callCPU     = 0.00025
	slowdown    = 1769.0 / 512 // of 512 MB
	snapshotAge = 1.5
	tailAge     = 0.030
	newsAge     = 0.050
	refusalAge  = 1.900
	tries       = 6
	unitsPerTry = 4
	burst       = 0.1 // of the table's units and a partition's, as time at the full rate
	// Lambda starts 1,000 environments of a function at once and 100 a second.
	startsAtOnce, startsPerSecond = 1000, 100
	// blind is the share of the environments that write of an empty shard without
	// having read the sale.
	blind = 0.2
)

// Sale is what is played.
type Sale struct {
	Users, Stock, Shards      int
	Peak                      float64 // first requests a second at the opening
	TableWrites               float64 // write units a second
	Environments, Concurrency int     // ready at the opening, and at most
	// Throttle is how many requests a second the API lets in, a second's worth at one
	// instant, and ItemReads how many read units a second the sale item serves. 0 is
	// any number.
	Throttle, ItemReads float64
}

// Result is what came of it when the last unit was sold.
type Result struct {
	Seconds                 float64 // until the last unit was sold
	Transactions, Conflicts float64 // per order
	WriteUnits              float64
	Concurrency             int     // most at once
	Requests                float64 // that a function has answered
	Busy                    float64 // seconds of all environments
	GiveUps                 float64 // requests that were told to come back
	Throttled, Refused      float64 // requests beyond the API's throttle, and without an environment
}

// store is a rate with what of it is not used yet. The last one that is let in may
// take more than there is.
type store struct{ rate, most, level, at float64 }

func filled(rate, seconds float64) *store { return &store{rate, rate * seconds, rate * seconds, 0} }

func (s *store) take(now, n float64) bool {
	if s.rate == 0 {
		return true
	}
	s.level, s.at = min(s.most, s.level+(now-s.at)*s.rate), now
	if s.level <= 0 {
		return false
	}
	s.level -= n
	return true
}

type event struct {
	at float64
	do func()
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// environment is one execution environment with what it knows of the shards.
type environment struct {
	readAt float64
	avoid  map[int]bool // closed, or met empty
	closed int          // of them closed when it last read
	// failures counts the latest reads that failed, and until is when it reads again.
	failures int
	until    float64
	known    bool // it has read the sale
	certain  bool // by a read that may refuse
}

type world struct {
	Sale
	Result
	random *rand.Rand
	now    float64
	queue  events
	stock  []int
	busy   []float64 // until when a shard is in a transaction
	closed map[int]bool
	left   int
	free   []*environment
	made   int
	inside int
	units  *store // the table's write units
	reads  *store // the sale item's read units
	door   *store // the API's throttle
	starts *store // of environments
}

// Play sells the stock once, with the chance of that seed.
func Play(s Sale, seed uint64) Result {
	w := &world{Sale: s, random: rand.New(rand.NewPCG(seed, 7)), closed: map[int]bool{}, left: s.Stock}
	w.stock, w.busy = make([]int, s.Shards), make([]float64, s.Shards)
	for k := range w.stock {
		w.stock[k] = s.Stock / s.Shards
		if k < s.Stock%s.Shards {
			w.stock[k]++
		}
	}
	for range s.Environments {
		w.free, w.made = append(w.free, &environment{readAt: -1e9}), w.made+1
	}
	w.units, w.reads = filled(w.TableWrites, burst), filled(w.ItemReads, burst)
	w.door, w.starts = filled(w.Throttle, 1), filled(startsPerSecond, startsAtOnce/startsPerSecond)
	w.come(0, 0)
	for w.left > 0 && len(w.queue) > 0 {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		e.do()
	}
	w.Transactions /= float64(s.Stock)
	w.Conflicts /= float64(s.Stock)
	return w.Result
}

func (w *world) after(d float64, do func()) { heap.Push(&w.queue, event{w.now + d, do}) }

// spread is a latency whose 99th percentile is that many medians.
func (w *world) spread(median, p99 float64) float64 {
	return median * math.Exp(math.Log(p99)/2.3263*w.random.NormFloat64())
}

// come lets the next user come: the rate falls exponentially from the peak.
func (w *world) come(i int, mass float64) {
	if i == w.Users {
		return
	}
	mass += w.random.ExpFloat64()
	n := float64(w.Users)
	at := -n / w.Peak * math.Log(max(1-mass/n, 0.5/n))
	w.after(at-w.now, func() {
		w.request()
		w.come(i+1, mass)
	})
}

func (w *world) request() {
	again := func() { w.after(1+w.random.Float64(), w.request) }
	var e *environment
	wait := 0.0
	switch n := len(w.free); {
	case !w.door.take(w.now, 1):
		w.Throttled++
		again()
		return
	case n > 0:
		i := w.random.IntN(n)
		e, w.free[i] = w.free[i], w.free[n-1]
		w.free = w.free[:n-1]
	case w.made < w.Sale.Concurrency && w.starts.take(w.now, 1):
		w.made++
		e, wait = &environment{readAt: -1e9}, w.spread(coldStart, 3)
	default:
		w.Refused++
		again()
		return
	}
	w.inside++
	w.Result.Concurrency = max(w.Result.Concurrency, w.inside)
	began := w.now + wait
	leave := func(busy bool) {
		w.inside--
		w.Requests++
		w.free = append(w.free, e)
		w.Busy += w.now - began
		if busy {
			w.GiveUps++
			told := 1 + 2*w.random.Float64() // Retry-After
			w.after(told*(1+w.random.Float64()), w.request)
		}
	}
	w.after(wait+eventCPU*slowdown, func() {
		most := tries
		if e.known {
			most = 1
		}
		w.look(e, snapshotAge, most, func() {
			if e.known {
				w.try(e, 0, leave)
			} else {
				leave(true)
			}
		})
	})
}

// look reads the sale if what the environment knows is older than age, or than
// tailAge when some shards are closed. An environment that knows the sale tries once,
// and after a failure not for 30 ms, twice as long each time, at most half a second;
// one that does not know it yet tries as often as it may.
func (w *world) look(e *environment, age float64, left int, then func()) {
	units := 0.5
	gone := e.closed == w.Shards
	if e.closed > 0 {
		units = 1
		if !gone {
			age = min(age, tailAge)
		}
	}
	if w.now-e.readAt < age && (!gone || e.certain) || e.known && left == 1 && w.now < e.until {
		then()
		return
	}
	began, took := w.now, w.spread(read, 3)
	w.after(callCPU*slowdown+took/2, func() {
		if !w.reads.take(w.now, units) {
			w.after(took/2, func() {
				e.until = w.now + min(0.5, tailAge*math.Pow(2, float64(e.failures)))
				e.failures++
				if left == 1 {
					then()
					return
				}
				w.after(w.random.Float64()*min(0.200, 0.020*math.Pow(2, float64(tries-left))), func() { w.look(e, age, left-1, then) })
			})
			return
		}
		known := map[int]bool{}
		for k := range w.closed {
			known[k] = true
		}
		w.after(took/2, func() {
			e.learn(known, began)
			e.failures /= 2
			e.certain = units == 1
			then()
		})
	})
}

func (e *environment) learn(closed map[int]bool, at float64) {
	e.closed, e.readAt, e.known = len(closed), at, true
	for k := range e.avoid {
		closed[k] = true
	}
	e.avoid = closed
}

// try is one transaction, and what follows from its outcome. waits counts those
// that ended in contention.
func (w *world) try(e *environment, waits int, leave func(busy bool)) {
	var open []int
	for k := range w.Shards {
		if !e.avoid[k] {
			open = append(open, k)
		}
	}
	if len(open) == 0 {
		w.refuse(e, leave)
		return
	}
	k := open[w.random.IntN(len(open))]
	took := w.spread(transaction, 3)
	back := max(took/2, window)
	w.after(callCPU*slowdown+max(took-back, took/4), func() {
		contended, empty := !w.units.take(w.now, unitsPerTry), false
		if !contended {
			w.WriteUnits += unitsPerTry
			w.Transactions++
			switch {
			case w.now < w.busy[k]:
				contended = true
				w.Conflicts++
			case w.stock[k] == 0:
				empty = true
			default:
				w.stock[k]--
				w.left--
				w.Seconds = w.now
				w.busy[k] = w.now + window
			}
		}
		w.after(back, func() {
			switch {
			case empty:
				w.close(e, k, func() { w.try(e, waits, leave) })
			case contended && waits+1 == tries:
				leave(true)
			case contended:
				limit := min(0.200, 0.020*math.Pow(2, float64(waits+3*len(e.avoid)/w.Shards)))
				w.after(limit*w.random.Float64(), func() {
					next := func() { w.try(e, waits+1, leave) }
					if e.closed > 0 {
						w.look(e, snapshotAge, 1, next)
					} else {
						next()
					}
				})
			default:
				w.after(callCPU*slowdown+w.spread(send, 5), func() { leave(false) })
			}
		})
	})
}

// refuse tells the buyer that nothing is left, as soon as a read that may refuse and is
// not too old has shown it; if it cannot be had the buyer is told to come back.
func (w *world) refuse(e *environment, leave func(busy bool)) {
	sure := func(age float64) bool { return e.certain && e.closed == w.Shards && w.now-e.readAt < age }
	if sure(refusalAge) {
		leave(false)
		return
	}
	e.closed = max(e.closed, 1) // the read must be one that may refuse
	e.readAt = -1e9
	w.look(e, snapshotAge, tries, func() {
		if sure(snapshotAge) {
			leave(false)
		} else if w.now-e.readAt < snapshotAge {
			w.try(e, 0, leave) // the news is that some shard is open
		} else {
			leave(true)
		}
	})
}

// close tells everybody of an empty shard, unless a look says that they know.
func (w *world) close(e *environment, k int, then func()) {
	if e.avoid == nil {
		e.avoid = map[int]bool{}
	}
	e.avoid[k] = true
	began := w.now
	recent := began-e.readAt < newsAge
	e.closed = max(e.closed, 1) // the read must be one that may refuse
	w.look(e, newsAge, 1, func() {
		// What it cannot read it does not know, and most leave it to another one.
		if e.readAt >= began && w.closed[k] || e.readAt < began && !recent && w.random.Float64() > blind {
			then()
			return
		}
		w.after(callCPU*slowdown+w.spread(write, 3), func() {
			if !w.units.take(w.now, 1) {
				w.after(w.random.Float64()*tailAge, func() { w.close(e, k, then) })
				return
			}
			w.closed[k] = true
			w.WriteUnits++
			known := map[int]bool{}
			for k := range w.closed {
				known[k] = true
			}
			e.learn(known, w.now)
			e.certain = true
			then()
		})
	})
}
