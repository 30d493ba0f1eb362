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
	tries       = 6
	unitsPerTry = 4
	burst       = 0.1 // of the table's write units, as time at the full rate
)

// Sale is what is played.
type Sale struct {
	Users, Stock, Shards      int
	Peak                      float64 // first requests a second at the opening
	TableWrites               float64 // write units a second
	Environments, Concurrency int     // ready at the opening, and at most
}

// Result is what came of it when the last unit was sold.
type Result struct {
	Seconds                 float64
	Transactions, Conflicts float64 // per order
	WriteUnits              float64
	Concurrency             int     // most at once
	Requests                float64 // that reached a function
	Busy                    float64 // seconds of all environments
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
	units  float64 // of the table that are left
	filled float64 // when they were counted
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
	w.units = w.TableWrites * burst
	w.come(0, 0)
	for w.left > 0 && len(w.queue) > 0 {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		e.do()
	}
	w.Seconds = w.now
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
	case n > 0:
		i := w.random.IntN(n)
		e, w.free[i] = w.free[i], w.free[n-1]
		w.free = w.free[:n-1]
	case w.made < w.Sale.Concurrency:
		w.made++
		e, wait = &environment{readAt: -1e9}, w.spread(coldStart, 3)
	default:
		again()
		return
	}
	w.inside++
	w.Result.Concurrency = max(w.Result.Concurrency, w.inside)
	w.Result.Concurrency = max(w.Result.Concurrency, w.inside)
	w.Requests++
	began := w.now + wait
	leave := func(busy bool) {
		w.inside--
		w.free = append(w.free, e)
		w.Busy += w.now - began
		if busy {
			again()
		}
	}
	w.after(wait+eventCPU*slowdown, func() { w.look(e, snapshotAge, func() { w.try(e, 0, leave) }) })
}

// look reads the sale if what the environment knows is older than age, or than
// tailAge when some shards are closed.
func (w *world) look(e *environment, age float64, then func()) {
	if e.closed > 0 {
		age = min(age, tailAge)
	}
	if w.now-e.readAt < age {
		then()
		return
	}
	began, took := w.now, w.spread(read, 3)
	w.after(callCPU*slowdown+took/2, func() {
		known := map[int]bool{}
		for k := range w.closed {
			known[k] = true
		}
		w.after(took/2, func() {
			e.learn(known, began)
			then()
		})
	})
}

func (e *environment) learn(closed map[int]bool, at float64) {
	e.closed, e.readAt = len(closed), at
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
		leave(false)
		return
	}
	k := open[w.random.IntN(len(open))]
	took := w.spread(transaction, 3)
	back := max(took/2, window)
	w.after(callCPU*slowdown+max(took-back, took/4), func() {
		w.units = min(w.TableWrites*burst, w.units+(w.now-w.filled)*w.TableWrites)
		w.filled = w.now
		contended, empty := w.units <= 0, false
		if !contended {
			w.units -= unitsPerTry
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
						w.look(e, snapshotAge, next)
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

// close tells everybody of an empty shard, unless a look says that they know.
func (w *world) close(e *environment, k int, then func()) {
	if e.avoid == nil {
		e.avoid = map[int]bool{}
	}
	e.avoid[k] = true
	w.look(e, newsAge, func() {
		if w.closed[k] {
			then()
			return
		}
		w.after(callCPU*slowdown+w.spread(write, 3), func() {
			w.closed[k] = true
			w.WriteUnits++
			known := map[int]bool{}
			for k := range w.closed {
				known[k] = true
			}
			e.learn(known, w.now)
			then()
		})
	})
}
