// Package explore sells small sales in virtual time while functions, table, queue and event bus
// have every fault that they may have, and checks the promises. infra/proof/harness has the fakes.
//
// Two choosers decide what goes wrong. A seed draws random sales and faults (Simulate in
// simulation.go) and determines everything, so that each sale can be repeated. A
// plan says which call of a scenario has which fault, and between which two calls another's request
// runs; every plan of a few faults is run (enumerate.go, scenarios.go).
//
// A draft is what a seed draws: sales, buyers, the operator's commands and the rates of faults
// (draft.go). They run as goroutines (buyers.go, operator.go, payments.go, draws.go) which the
// schedule wakes one at a time (schedule.go). Every call passes the network (network.go), after which the watch
// reads what changed in the table (watch.go). In the end the faults stop, and what must be true of a
// quiet sale is checked (finish.go). What the table's stream publishes runs beside that (publisher.go).
package explore

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/infra/proof/harness"
)

// simulation is a few random sales that share their functions and their queue.
type simulation struct {
	began time.Time
	n     *network
	watch *watch
	world *harness.World
	draft draft
	pools map[harness.Function]*pool
	sales []*runningSale

	stream *stream
	stop   chan struct{}
	// restoring is nil unless the table is restored in the end.
	restoring *restoring
	// sending is nil unless refunds are sent.
	sending *sending
	// waits: nothing is due until late days are over.
	waits atomic.Bool
	// drawsEnded: the draw function runs no more.
	drawsEnded atomic.Bool
}

// runningSale is one of the sales.
type runningSale struct {
	*simulation
	id         string
	draft      saleDraft
	watch      *watchedSale
	sentEvents map[int]string // the operator's events, by their number

	// Guarded by the network's lock:
	withdrawn      map[string]int                             // units, by the operator's event
	supplied       map[string]int                             // units that were added, by the event, or negative
	applied        map[string]bool                            // the operators' events with an id
	refused        map[string]bool                            // the operators' events
	bodies         map[string]string                          // the first acceptance, by user and key
	paid           map[harness.Payment]harness.PaymentAnswer  // recorded payments, and what their providers were told
	givenUp        []harness.Payment                          // that their providers reported in vain
	back           map[harness.Payment][]harness.RefundReport // what their providers said of refunds
	backAt         map[harness.RefundReport]time.Time         // when that was last answered
	refundsGivenUp []harness.RefundReport
	// recallKnown is from when every environment knows of the recall; zero while that is not answered.
	recallKnown time.Time
	cancelled   map[string]bool      // the operators' cancellations that were answered with success
	cancelKnown map[string]time.Time // from when every environment knows that an operator has cancelled a user's order
	createdAt   time.Time            // zero until the creation is answered
}

// Result is the result of one seed.
type Result struct {
	Seed    uint64
	Counts  map[string]int // by the counters' names
	Virtual time.Duration
	// Shown are the first violations.
	Shown []string
	// Hash is a hash of all events; Tail is the last of them.
	Hash uint64
	Tail string
}

// Simulate runs the sales of a seed from their creation to their last orders, and perhaps a restore. It must be called in a
// testing/synctest bubble after harness.AdvanceClock.
func Simulate(seed uint64) Result {
	s := newSchedule(seed)
	defer close(s.stop)
	c := draw(s, drawConditions)
	// Not drawn, so that the other seeds stay the same.
	c.withdraws, c.pays, c.groups, c.recalls = seed%4 == 0, seed%4 == 1 || seed%8 == 3, seed%4 == 2, seed%4 == 3
	c.late = c.pays && seed%16 < 4
	if c.groups {
		c.sales = max(2, c.sales)
	}
	c.draws = seed%drawEvery == 0
	c.restores = restoreOf(seed).IntN(restoreEvery) == 0
	sends := c.pays && rand.New(rand.NewPCG(seed, 0x73656e6473)).IntN(sendsEvery) == 0
	c.restores = c.restores && !sends // of what a restore takes back, the bank knows
	if c.draws {                      // they last for hours, in which reconciliation may be dull
		c.restores, c.sales = false, min(c.sales, 2)
	}
	d := draw(s, func(r *rand.Rand) draft { return drawSales(r, c) })
	if chance := cancellationsOf(seed); chance.IntN(cancelsEvery) == 0 {
		for i := range d.sales {
			d.sales[i].cancellations = drawCancellations(chance, d.sales[i])
		}
	}
	if chance := rand.New(rand.NewPCG(seed, 0x756e697473)); chance.IntN(unitsEvery) == 0 {
		for i := range d.sales {
			drawUnits(chance, &d.sales[i])
		}
		d.rates.table.Torn, d.rates.table.TornBy = 0.3, hiddenAtMost
	}
	if c.midnight {
		// The day ends while the first sale sells.
		day := time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
		time.Sleep(time.Until(day.Add(-d.sales[0].opensAt - draw(s, func(r *rand.Rand) time.Duration { return between(r, 0, 3*time.Second) }))))
	}
	m := newSimulation(seed, s, c, d)
	if sends {
		m.addSending()
	}
	if c.restores {
		m.keep(&restoring{chance: restoreOf(seed + 1)})
	}
	m.run()
	m.finishAndCheck()
	hash := fnv.New64a()
	published := m.finishStream(hash)
	m.close()
	if m.restoring != nil {
		m.restoreTable()
	}
	text := m.n.log.text.String()
	_, _ = hash.Write([]byte(text)) // writing to a hash never fails
	count := m.watch.counts
	count["sales"] = len(m.sales)
	count["events"], count["duplicates"] = published.Events, published.Duplicates
	for _, s := range m.sales {
		s.countEnds()
	}
	return Result{
		Seed: seed, Counts: count, Virtual: time.Since(m.began),
		Shown: m.watch.found, Hash: hash.Sum64(), Tail: m.n.log.tail(80),
	}
}

// drawEvery is how many seeds there are for one that has a draw. Each kind of sale has draws among
// its seeds.
const drawEvery = 5

// countEnds counts how the claims and payments of a sale ended.
func (m *runningSale) countEnds() {
	for _, c := range harness.ReadBooks(m.world.DB, m.id).Claims {
		switch {
		case c.Payment != "":
			m.watch.counts["paid"]++
		case c.End() != "":
			m.watch.counts["released"]++
		}
	}
	for _, told := range m.paid {
		if told.IsRefund() {
			m.watch.counts["refunds"]++
		}
	}
}

func newSimulation(seed uint64, s *schedule, c conditions, d draft) *simulation {
	n := &network{schedule: s, rates: d.rates, skew: c.skew, log: &journal{began: time.Now()}, fault: d.rates.table.Seeded(seed)}
	m := newWorld(n, d)
	m.world.DB.Busy, m.world.DB.Lag = d.busy, d.lag
	r := rand.New(rand.NewPCG(seed, 0x73747265616d))
	m.setStream(newStream(m, drawStream(r, c), seed))
	if c.draws {
		n.world.Dice = &dice{n, m.sales[0].draft.draw.dice}
	}
	return m
}

// setStream makes that the event source of the table.
func (m *simulation) setStream(s *stream) { m.stream, m.n.stream = s, s }

// newWorld makes the sales of a draft and what they share.
func newWorld(n *network, d draft) *simulation {
	n.world = harness.NewWorld(n, n.random)
	n.world.DB.Fault, n.world.Queue.Fault = n.tableFault, n.queueFault
	n.watch = newWatch(n.world, n.skew)
	n.world.Bus.Fault = n.busFault
	n.world.TooLong = func(f harness.Function, took time.Duration) { n.violate("P16: %s took %v", f, took) }
	m := &simulation{
		began: time.Now(), n: n, watch: n.watch, world: n.world, draft: d, pools: map[harness.Function]*pool{}, stop: make(chan struct{}),
	}
	for f, most := range d.environments {
		m.pools[f] = &pool{n: n, function: f, most: most}
	}
	for _, one := range d.sales {
		m.sales = append(m.sales, &runningSale{
			simulation: m, id: one.id, draft: one, watch: n.watch.add(one.id, one.grouped), sentEvents: map[int]string{}, bodies: map[string]string{},
			cancelled: map[string]bool{}, cancelKnown: map[string]time.Time{}, withdrawn: map[string]int{}, supplied: map[string]int{}, applied: map[string]bool{},
			refused: map[string]bool{}, paid: map[harness.Payment]harness.PaymentAnswer{}, back: map[harness.Payment][]harness.RefundReport{}, backAt: map[harness.RefundReport]time.Time{},
		})
		m.sales[len(m.sales)-1].watch.late, m.sales[len(m.sales)-1].watch.mostUnits = one.late, max(1, int64(one.maxPerOrder))
		if one.draw != nil {
			m.addDraw(one)
		}
	}
	return m
}

// run runs while faults may happen: operators, buyers, messages and schedules, all
// at once.
func (m *simulation) run() {
	m.startSchedules()
	m.stream.run()
	go m.sendPoison()
	var all sync.WaitGroup
	for _, s := range m.sales {
		all.Go(func() { s.runCommands(s.draft.commands) })
		if s.draft.cancellations != nil {
			all.Go(func() { s.runCancellations(s.draft.cancellations) })
		}
		if s.draft.draw != nil {
			all.Go(s.runEntrants)
			continue
		}
		for _, b := range s.draft.buyers {
			all.Go(func() { s.runBuyer(b) })
			if s.draft.payWithin > 0 {
				all.Go(func() { s.payOrCancel(b) })
			}
		}
	}
	if m.sending != nil {
		all.Go(m.sending.runOperators)
	}
	all.Wait()
	m.n.wait("director", time.Millisecond)
}

// startSchedules starts what runs by itself: messages and schedules.
func (m *simulation) startSchedules() {
	go m.deliverMessages()
	// An invocation of ReconcileFunction is dropped while the previous one is running; others may overlap.
	go m.everyMinute("reconcile", m.draft.firstPass, func(int) { m.reconcile() })
	if m.pools[harness.Releasing] != nil {
		go m.everyMinute("release", time.Minute, func(minute int) {
			go m.release(fmt.Sprint("release ", minute))
		})
	}
	if m.sending != nil {
		go m.everyMinute("refunds", time.Minute, m.sending.send)
	}
	if m.pools[harness.Drawing] != nil {
		go m.everyMinute("draws", time.Minute, m.leadOnceOrTwice)
	}
}

// sendPoison sends poison messages.
func (m *simulation) sendPoison() {
	for i, body := range m.draft.poisons {
		m.n.wait(fmt.Sprint("poison ", i), 7*time.Second)
		m.world.Queue.Put(body, time.Now())
	}
}

// close ends the endless goroutines.
func (m *simulation) close() {
	close(m.stop)
	m.n.wait("director", 10*time.Minute) // all waiting goroutines notice it
}

// deliverMessages is Lambda's event source for the queue.
func (m *simulation) deliverMessages() {
	d := &harness.Disorder{Chance: rand.New(rand.NewPCG(draw(m.n.schedule, (*rand.Rand).Uint64), 1)), Rates: m.draft.rates.disorder}
	for {
		at, ok := m.world.Queue.Next()
		if !ok {
			select {
			case <-m.world.Queue.Arrived:
			case <-m.stop:
				return
			}
		}
		wait := min(time.Second, max(0, time.Until(at)))
		m.n.pass(0, "pump", time.Time{}, func(r *rand.Rand) time.Duration { return wait + between(r, 0, 300*time.Millisecond) })
		if at, ok = m.world.Queue.Next(); !ok || at.After(time.Now()) {
			continue
		}
		e := m.pools[harness.Finalizing].take("pump")
		if m.n.faultsOff.Load() {
			d = nil
		}
		batch := m.world.Queue.Receive(time.Now(), m.draft.batch, d)
		go func() {
			m.n.wait(fmt.Sprint("batch ", e.Invocation), time.Microsecond)
			m.deliver(e, batch)
		}()
	}
}

// deliver delivers a batch of messages, and deletes those that are done.
func (m *simulation) deliver(e *harness.Environment, batch []events.SQSMessage) {
	m.write("finalize %d #%d gets %d messages", e.Number, e.Invocation, len(batch))
	handles := e.Deliver(batch)
	m.pools[harness.Finalizing].give(e)
	for _, handle := range handles {
		if m.n.deletionWorks() {
			m.world.Queue.Remove(handle)
		}
	}
}

// everyMinute is a schedule, whose first run is after that time. While nothing is due it leaves out most
// runs: more of them under a plan, whose faults are over then.
func (m *simulation) everyMinute(who string, first time.Duration, run func(minute int)) {
	every := 10
	if m.n.planned != nil {
		every = 120
	}
	for minute, pause := 0, first; ; minute, pause = minute+1, time.Minute {
		m.n.wait(who, pause)
		select {
		case <-m.stop:
			return
		default:
		}
		if minute%every == 0 || !m.waits.Load() && !m.isDull() {
			run(minute)
		}
	}
}

// invoke invokes a function of the schedules or the operator once, in an environment of its pool.
func (m *simulation) invoke(f harness.Function, who, event string, out any) error {
	e := m.pools[f].take(who)
	err := e.Command(event, out)
	m.pools[f].give(e)
	return err
}

// receipt is reconciliation's receipt of a sale.
type receipt struct {
	SaleID   string
	Balanced bool
	Findings []string
}

func (m *simulation) reconcile() {
	var out struct{ Receipts []receipt }
	began := time.Now()
	err := m.invoke(harness.Reconciling, "reconcile", "{}", &out)
	m.write("reconcile: %+v %v", out.Receipts, err)
	for _, r := range out.Receipts {
		if !r.Balanced && !m.isCutOff(r, began) {
			m.violate("P2: the receipt of %s does not balance: %q", r.SaleID, r.Findings)
		}
	}
}

// deletionWorks reports whether a message's deletion works.
func (n *network) deletionWorks() bool {
	if n.planned != nil {
		return n.chooseFault(harness.Finalizing, harness.Point{Op: "DeleteMessage"}).name == ""
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faultName, n.caller = "", harness.Finalizing
	return n.queueFault("DeleteMessage").Kind == 0
}

func (m *simulation) violate(format string, args ...any) { m.n.violate(format, args...) }

func (n *network) violate(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.watch.violate(format, args...)
}

func (m *simulation) write(format string, args ...any) { m.n.write(format, args...) }

// journal is the log of a simulation.
type journal struct {
	began time.Time
	text  strings.Builder
}

func (j *journal) write(format string, args ...any) {
	fmt.Fprintf(&j.text, "%14v ", time.Since(j.began))
	fmt.Fprintf(&j.text, format, args...)
	j.text.WriteByte('\n')
}

// tail returns the last lines.
func (j *journal) tail(lines int) string {
	all := strings.Split(strings.TrimSuffix(j.text.String(), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// counters are what simulations count, in the order of their last line: splits are the units that one shard gave to another, not-enough the refusals of that code, operations the functions'
// calls to table and queue, paid, refunds and released the orders that were paid, the payments to be
// refunded and the claims that were released, money the reports of refunds, extended the edits that gave more time, resent the order messages that reconciliation sent again.
// Events are the order events, duplicates how often one was published again. Refused-changes are what a
// sale does not allow, cancelled-orders those that an operator has cancelled, presses, stops and marks what operators did about refunds, sent-back the refunds that the function has made, halves transactions that a restore takes back in part, cut-offs those of the
// replay, and replayed-ends payments, releases and refunds.
var counters = []string{
	"sales", "splits", "not-enough", "operations", "faults", "freezes", "paid", "refunds", "money", "released", "resent", "events", "duplicates",
	"entries", "entries-too-late", "rolls", "calls", "called", "moved", "open-calls", "not-your-turn", "turn-over",
	"refused-changes", "extended", "cancelled-orders", "presses", "stops", "marks", "refused-marks", "sent-back", "restores", "halves", "cut-offs", "replayed-claims", "replayed-orders", "replayed-ends", "violations",
}

// Total is the result of many seeds.
type Total struct {
	Seeds   int
	Counts  map[string]int
	Virtual time.Duration
	// Hash is the sum of the seeds' hashes, independent of the order in which they ran.
	Hash uint64
}

// Add adds one seed's result.
func (t *Total) Add(r Result) {
	t.Seeds++
	for name, n := range r.Counts {
		t.Counts[name] += n
	}
	t.Virtual += r.Virtual
	t.Hash += r.Hash
}

// String is the last line of a simulation's output.
func (t Total) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "seeds=%d virtual=%.1fh hash=%016x", t.Seeds, t.Virtual.Hours(), t.Hash)
	for _, name := range counters {
		fmt.Fprintf(&text, " %s=%d", name, t.Counts[name])
	}
	return text.String()
}

// maxShown bounds the violations shown per seed: the first is the most useful.
const maxShown = 5

// Report returns the violations, how to reproduce them, and the last events before
// them.
func (r Result) Report() string {
	return fmt.Sprintf("seed %d: %d violations\n  %s\nagain: go test ./infra/proof/explore -run '^TestSimulation$' -count=1 -seed=%d\n%s",
		r.Seed, r.Counts["violations"], strings.Join(r.Shown, "\n  "), r.Seed, r.Tail)
}
