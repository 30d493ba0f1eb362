package explore

import (
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/harness"
)

// streamDraft is what a seed draws of the stream and the bus.
type streamDraft struct {
	lanes, batch int
	// refused is the share of calls that are refused, and also of those whose answer is lost; entries
	// that of a call's entries that fail.
	refused, entries float64
	// forgotten is the share of batches whose checkpoint is lost.
	forgotten float64
	// outage is when the bus begins to be down, 0 for never. hangs: it does not answer
	// then, instead of failing at once.
	outage time.Duration
	hangs  bool
	// unchanged: there are also records of items that did not change.
	unchanged bool
}

// outageTime is how long an outage of the bus lasts.
const outageTime = time.Hour

func drawStream(r *rand.Rand, c conditions) streamDraft {
	rate := func(much float64) float64 { return []float64{0, much / 5, much}[r.IntN(3)] }
	if c.publishes {
		rate = func(much float64) float64 { return much }
	}
	d := streamDraft{
		lanes: 1 + r.IntN(4), batch: 1 + r.IntN(100), refused: rate(0.2), entries: rate(0.2), forgotten: rate(0.2),
		unchanged: sometimes(r, 0.2),
	}
	if sometimes(r, 0.03) || c.publishes {
		d.outage, d.hangs = between(r, time.Second, time.Minute), sometimes(r, 0.5)
	}
	return d
}

// stream is Lambda's event source for the table's stream, with PublishFunction behind it.
type stream struct {
	*simulation
	draft streamDraft
	lanes []*lane
	// chance and judge are used where the table's lock is held.
	chance *rand.Rand
	judge  *harness.EventJudge
}

// idleShare is the share of records that mean no event, most of them reconciliation's
// cursors of every minute, that are delivered nonetheless: all of them would take more
// time than the events.
const idleShare = 0.1

// lane is a part of the stream whose records are delivered in their order, one batch at a time: of a
// shard's records those whose partition keys have some hashes.
type lane struct {
	*stream
	name    string
	arrived chan struct{} // holds a token after a record has come

	mu      sync.Mutex
	waiting []dynamotest.Record
}

// newStream makes the event source of a table. Its lanes do not run yet.
func newStream(m *simulation, d streamDraft, seed uint64) *stream {
	s := &stream{simulation: m, draft: d, chance: rand.New(rand.NewPCG(seed, 0x7075626c697368)), judge: harness.NewEventJudge()}
	for n := range d.lanes {
		s.lanes = append(s.lanes, &lane{stream: s, name: fmt.Sprint("lane ", n), arrived: make(chan struct{}, 1)})
	}
	m.world.DB.Stream, m.world.DB.StreamUnchanged = s.record, d.unchanged
	return s
}

func (s *stream) run() {
	for _, l := range s.lanes {
		go l.run()
	}
}

// busFault is the bus' source of faults; n.mu is held.
func (n *network) busFault(op string, entries int) dynamotest.Fault {
	if n.planned != nil {
		return n.planned.injected
	}
	if n.stream.isDown() {
		return dynamotest.Fault{Kind: dynamotest.ServerError}
	}
	if n.faultsOff.Load() {
		return dynamotest.Fault{}
	}
	d, f := n.stream.draft, dynamotest.Fault{}
	for i := range entries {
		if n.random() < d.entries {
			f.Kind, f.Items = dynamotest.Unprocessed, append(f.Items, i)
		}
	}
	switch dice := n.random(); {
	case dice < d.refused:
		f = dynamotest.Fault{Kind: dynamotest.ServerError}
	case dice < 2*d.refused:
		f = dynamotest.Fault{Kind: dynamotest.LostReply}
	}
	n.count(f)
	return f
}

// isDown reports whether the bus is down.
func (s *stream) isDown() bool {
	since := time.Since(s.began)
	return s.draft.outage > 0 && since >= s.draft.outage && since-s.draft.outage < outageTime
}

func hashOf(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // writing to a hash never fails
	return h.Sum64()
}

// record takes a record of the table's stream; the table's lock is held.
func (s *stream) record(r dynamotest.Record) {
	if !harness.IsDelivered(r) {
		return
	}
	if !s.judge.Observe(r) && !sometimes(s.chance, idleShare) {
		return
	}
	l := s.lanes[hashOf(harness.Text(r.Keys["pk"]))%uint64(len(s.lanes))]
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, r)
	select {
	case l.arrived <- struct{}{}:
	default:
	}
}

// run delivers the lane's records until the simulation ends. After a failure it waits longer and longer.
func (l *lane) run() {
	for failures := 0; ; {
		batch := l.newest(l.draft.batch)
		if len(batch) == 0 {
			select {
			case <-l.arrived:
			case <-l.stop:
				return
			}
			l.n.pass(0, l.name, time.Time{}, func(r *rand.Rand) time.Duration { return between(r, 0, 1200*time.Millisecond) })
			continue
		}
		if l.deliver(batch) == len(batch) {
			failures = 0
			continue
		}
		failures++
		l.n.wait(l.name, min(2*time.Minute, time.Second<<min(failures-1, 7)))
	}
}

// newest returns so many of the waiting records at most.
func (l *lane) newest(most int) []dynamotest.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.waiting[:min(len(l.waiting), most)])
}

// deliver delivers a batch and returns how many of its records, from the first on, need
// not come again.
func (l *lane) deliver(batch []dynamotest.Record) (done int) {
	e := l.pools[harness.Publishing].take(l.name)
	done, err := e.Publish(batch)
	l.pools[harness.Publishing].give(e)
	if err != nil {
		l.violate("P26: a batch fails with %v", err)
	}
	if !l.n.checkpointWorks(l.draft.forgotten) {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = l.waiting[done:]
	return done
}

// checkpointWorks reports whether a checkpoint works, which that share of them does not.
func (n *network) checkpointWorks(forgotten float64) bool {
	if n.planned != nil {
		return n.chooseFault(harness.Publishing, harness.Point{Op: "Checkpoint"}).name == ""
	}
	return n.faultsOff.Load() || n.random() >= forgotten
}

func (s *stream) isEmpty() bool {
	return !slices.ContainsFunc(s.lanes, func(l *lane) bool { return len(l.newest(1)) > 0 })
}

// finishStream waits until everything is published that can be, and judges it.
func (m *simulation) finishStream(digest io.Writer) harness.EventFigures {
	s := m.stream
	limit := time.Now()
	if end := s.began.Add(s.draft.outage + outageTime); s.draft.outage > 0 && end.After(limit) {
		limit = end
	}
	limit = limit.Add(10 * time.Minute)
	for !s.isEmpty() && time.Now().Before(limit) {
		m.n.wait("director", 10*time.Second)
	}
	if !s.isEmpty() {
		m.violate("P26: records still wait %v after the faults stopped", time.Since(limit)+10*time.Minute)
	}
	figures, found := s.judge.Judge(m.world.DB.Items(harness.TableName), m.world.Bus, digest)
	for _, text := range found {
		m.violate("%s", text)
	}
	return figures
}
