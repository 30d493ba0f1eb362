package simulate

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"
)

// simulation is one random sale under way.
type simulation struct {
	began time.Time
	n     *network
	watch *watch
	world *world
	draft draft
	pools map[function]*pool

	stop chan struct{}
	said map[int]string // the operator's events, by their number

	// Guarded by the network's lock:
	history History
	bodies  map[string]string // the first acceptance, by user and key
}

// Result is what one seed came to.
type Result struct {
	Seed    uint64
	Calls   int // of table and queue
	Faults  int
	Virtual time.Duration
	// Violations counts them; Shown are the first.
	Violations int
	Shown      []string
	// Hash stands for everything that happened; Tail is the last of it.
	Hash uint64
	Tail string
}

// Simulate runs the sale of a seed from its creation to its last order. It must
// be called in a bubble of testing/synctest, whose clock stands at a time when
// there are sales.
func Simulate(seed uint64) Result {
	s := newSchedule(seed)
	defer close(s.stop)
	d := draw(s, drawSale)
	m := newSimulation(seed, s, d)
	m.play()
	m.settle()
	m.close()
	hash := fnv.New64a()
	text := m.n.log.text.String()
	_, _ = hash.Write([]byte(text)) // a hash takes everything
	return Result{
		Seed: seed, Calls: m.n.calls, Faults: m.n.faults, Virtual: time.Since(m.began),
		Violations: m.watch.count, Shown: m.watch.found, Hash: hash.Sum64(), Tail: m.n.log.tail(80),
	}
}

func newSimulation(seed uint64, s *schedule, d draft) *simulation {
	n := &network{
		schedule: s, weather: d.weather, fault: d.weather.table.Seeded(seed),
		log: &journal{began: time.Now()},
	}
	n.world = newWorld(n, s.random)
	n.world.db.Fault = n.tableFault
	n.world.db.Busy = d.busy
	n.world.queue.fault = n.queueFault
	n.watch = newWatch(n.world.db)
	m := &simulation{
		began: time.Now(), n: n, watch: n.watch, world: n.world, draft: d, pools: map[function]*pool{},
		bodies: map[string]string{}, said: map[int]string{}, stop: make(chan struct{}),
	}
	for _, f := range sorted(d.environments) {
		m.pools[f] = &pool{n: n, function: f, most: d.environments[f]}
	}
	return m
}

// play is the sale: operator, buyers, messages and schedules, all at once.
func (m *simulation) play() {
	go m.pump()
	go m.reconcileEveryMinute()
	var all sync.WaitGroup
	all.Go(func() { m.operate(m.draft.commands) })
	for _, b := range m.draft.buyers {
		all.Go(func() { m.shop(b) })
	}
	for i, body := range m.draft.poisons {
		m.n.wait("poison", time.Duration(i+1)*7*time.Second)
		m.world.queue.put(body, time.Now())
	}
	all.Wait()
	m.n.wait("director", time.Millisecond)
}

// close ends what would go on forever.
func (m *simulation) close() {
	close(m.stop)
	m.n.wait("director", 10*time.Minute) // whoever waits sees it
}

// pump is Lambda's event source for the queue.
func (m *simulation) pump() {
	d := &disorder{chance: rand.New(rand.NewPCG(draw(m.n.schedule, (*rand.Rand).Uint64), 1)), shares: m.draft.weather.disorder}
	for {
		at, ok := m.world.queue.next()
		if !ok {
			select {
			case <-m.world.queue.arrived:
			case <-m.stop:
				return
			}
		}
		wait := min(time.Second, max(0, time.Until(at)))
		m.n.pass(0, "pump", time.Time{}, func(r *rand.Rand) time.Duration { return wait + between(r, 0, 300*time.Millisecond) })
		if at, ok = m.world.queue.next(); !ok || at.After(time.Now()) {
			continue
		}
		e := m.pools[finalizing].take("pump")
		if m.n.calm.Load() {
			d = nil
		}
		batch := m.world.queue.receive(time.Now(), m.draft.batch, d)
		go func() {
			m.n.wait(fmt.Sprint("batch ", e.invocation), time.Microsecond)
			m.write("finalize %d #%d gets %d messages", e.number, e.invocation, len(batch))
			handles, took := e.deliver(batch)
			m.inTime(finalizing, took)
			m.pools[finalizing].give(e)
			for _, handle := range handles {
				if f := m.n.deletion(); f {
					m.world.queue.remove(handle)
				}
			}
		}()
	}
}

// reconcileEveryMinute is the schedule of the reconciling function; one that
// comes while the last is still running is dropped.
func (m *simulation) reconcileEveryMinute() {
	for {
		m.n.wait("reconcile", time.Minute)
		select {
		case <-m.stop:
			return
		default:
		}
		m.reconcile("{}")
	}
}

// receipt is what reconciliation says of the sale.
type receipt struct {
	Stock, Claims, Pending, Seeded int64
	Balanced                       bool
	Findings                       []string
}

func (m *simulation) reconcile(event string) []receipt {
	e := m.pools[reconciling].take("reconcile")
	var out struct{ Receipts []receipt }
	took, err := e.command(event, &out)
	m.inTime(reconciling, took)
	m.pools[reconciling].give(e)
	m.write("reconcile %s: %+v %v", event, out.Receipts, err)
	for _, r := range out.Receipts {
		if !r.Balanced {
			m.violate("P2: the receipt does not balance: %q", r.Findings)
		}
	}
	return out.Receipts
}

// deletion tells whether a message's deletion works.
func (n *network) deletion() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.met = ""
	return n.queueFault("DeleteMessage").Kind == 0
}

func (m *simulation) since() int64 { return int64(time.Since(m.began)) }

func (m *simulation) violate(format string, args ...any) {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	m.watch.violate(format, args...)
}

func (m *simulation) write(format string, args ...any) {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	m.n.log.write(format, args...)
}

// inTime checks that a function answered before Lambda would have killed it.
func (m *simulation) inTime(f function, took time.Duration) {
	if took > timeouts[f] {
		m.violate("P16: %s took %v", f, took)
	}
}
