// Package estimate simulates the selling of a sale a second time, to check the plan.
//
// It is an event simulation based on README.md, infra/docs/GUARANTEES.md and AWS's
// documentation. It shares no code with infra/model or the functions, so a mistake in
// either shows as a difference.
package estimate

import (
	"container/heap"
	"math"
	"math/rand/v2"
)

// Documented figures, in seconds unless noted otherwise.
const (
	window      = 0.010 // a transaction keeps its items busy
	transaction = 0.020 // median
	read, write = 0.004, 0.006
	send        = 0.008
	coldStart   = 0.250
	eventCPU    = 0.0002 // on a full processor
	callCPU     = 0.00025
	slowdown    = 1769.0 / 512 // of 512 MB
	snapshotAge = 1.5
	tailAge     = 0.030
	newsAge     = 0.050
	refusalAge  = 1.900
	tries       = 6
	unitsPerTry = 4
	burst       = 0.1  // of the table's units and a partition's, as time at the full rate
	itemWrites  = 1000 // write units a second of the sale item's partition
	// Lambda starts 1,000 environments of a function at once and 100 a second.
	startsAtOnce, startsPerSecond = 1000, 100
	// blind is the share of the environments that close an empty shard without having
	// read the sale.
	blind = 0.2
)

// Sale is the simulated sale.
type Sale struct {
	Users, Stock, Shards      int
	Peak                      float64 // first requests a second at the opening
	TableWrites               float64 // write units a second
	Environments, Concurrency int     // ready at the opening, and the maximum
	// Throttle is how many requests a second the API admits, with a burst of one
	// second's worth, and ItemReads how many read units a second the sale item serves.
	// 0 means unlimited.
	Throttle, ItemReads float64
}

// Result is the state when the last unit was sold.
type Result struct {
	Seconds                 float64 // until the last unit was sold
	Transactions, Conflicts float64 // per order
	WriteUnits              float64
	Concurrency             int     // most at once
	Requests                float64 // answered by a function
	Busy                    float64 // seconds of all environments
	GiveUps                 float64 // requests answered with "busy"
	Throttled, Refused      float64 // requests beyond the API's throttle, and without an environment
}

// store is a token bucket. The last request admitted may take more than there is.
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

type world struct {
	Sale
	Result
	random *rand.Rand
	now    float64
	queue  events
	stock  []int
	busy   []float64 // end of each shard's latest transaction
	closed map[int]bool
	left   int
	free   []*environment
	made   int
	inside int
	units  *store // the table's write units
	reads  *store // the sale item's read units
	writes *store // and its write units
	door   *store // the API's throttle
	starts *store // of environments
}

// Play sells the stock once, with random numbers from that seed.
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
		w.free, w.made = append(w.free, newEnvironment()), w.made+1
	}
	w.units, w.reads, w.writes = filled(w.TableWrites, burst), filled(w.ItemReads, burst), filled(itemWrites, burst)
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

// spread draws a latency with the given median and p99/median ratio.
func (w *world) spread(median, p99 float64) float64 {
	return median * math.Exp(math.Log(p99)/2.3263*w.random.NormFloat64())
}

// come schedules the next user: the rate falls exponentially from the peak.
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
		e, wait = newEnvironment(), w.spread(coldStart, 3)
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
		w.look(e, func() {
			if e.known {
				w.try(e, 0, leave)
			} else {
				leave(true)
			}
		})
	})
}

// backOff draws a pause after that many earlier ones.
func (w *world) backOff(earlier int) float64 {
	return w.random.Float64() * min(0.200, 0.020*math.Pow(2, float64(earlier)))
}

// try is one transaction and the handling of its outcome. waits counts those that were
// followed by a pause.
func (w *world) try(e *environment, waits int, leave func(busy bool)) {
	var open []int
	for k := range w.Shards {
		if !e.avoid[k] {
			open = append(open, k)
		}
	}
	if len(open) == 0 {
		w.refuse(e, waits, leave)
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
				w.close(e, k, func(known bool) {
					if known {
						w.try(e, waits, leave)
					} else {
						w.again(e, waits, leave)
					}
				})
			case contended:
				w.again(e, waits, leave)
			default:
				w.after(callCPU*slowdown+w.spread(send, 5), func() { leave(false) })
			}
		})
	})
}

// again pauses before the next try, or answers "busy" after the last one. The pause is
// longer the fewer shards are left.
func (w *world) again(e *environment, waits int, leave func(busy bool)) {
	if waits+1 == tries {
		leave(true)
		return
	}
	w.after(w.backOff(waits+3*len(e.avoid)/w.Shards), func() {
		next := func() { w.try(e, waits+1, leave) }
		if e.closed > 0 {
			w.look(e, next)
		} else {
			next()
		}
	})
}

// refuse answers "sold out" if a recent consistent read has shown it, after a new one if
// need be; if that fails, it answers "busy".
func (w *world) refuse(e *environment, waits int, leave func(busy bool)) {
	if e.certain && e.closed == w.Shards && w.now-e.readAt < refusalAge {
		leave(false)
		return
	}
	w.read(e, true, tries, func(ok bool) {
		if ok {
			w.try(e, waits, leave)
		} else {
			leave(true)
		}
	})
}
