package explore

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	publishhandler "flashsale/functions/publish/handler"
	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/harness"
)

// streamDraft is what a seed draws of the stream and the bus.
type streamDraft struct {
	lanes, batch  int
	latency, skew time.Duration
	// The shares of outside calls that are refused, whose answer is lost, that are applied
	// late, and at which the environment dies or hangs until its timeout.
	refused, lost, late, crash, hang float64
	// entries is the share of a call's entries that fail.
	entries float64
	// forgotten is the share of batches whose checkpoint is lost, again of those that are
	// delivered again while they may still be handled.
	forgotten, again float64
	// freeze is the share of invocations after which an environment is not used for long.
	freeze float64
	// poison is the share of records that come with one that can never be published,
	// refusedForever that of events that the bus never takes.
	poison, refusedForever float64
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
		lanes: 1 + r.IntN(4), batch: 1 + r.IntN(100), latency: between(r, 2*time.Millisecond, 40*time.Millisecond), skew: c.skew,
		refused: rate(0.3), lost: rate(0.1), late: rate(0.05), crash: rate(0.05), hang: rate(0.02), entries: rate(0.2),
		forgotten: rate(0.2), again: rate(0.1), freeze: rate(0.1), poison: rate(0.05), refusedForever: rate(0.02), unchanged: sometimes(r, 0.2),
	}
	if sometimes(r, 0.03) || c.publishes {
		d.outage, d.hangs = between(r, time.Second, time.Minute), sometimes(r, 0.5)
	}
	return d
}

// publisher is one execution environment of PublishFunction.
type publisher struct {
	*harness.Environment
	stream  *stream
	chance  *rand.Rand
	handler *publishhandler.Handler
}

// startPublisher makes a cold environment.
func (l *lane) startPublisher() *publisher {
	p := &publisher{
		Environment: &harness.Environment{Function: harness.Publishing}, stream: l.stream,
		chance: rand.New(rand.NewPCG(l.chance.Uint64(), l.chance.Uint64())),
	}
	p.handler = harness.NewPublisher(p.Environment, p, p.chance.Float64, between(l.chance, -l.draft.skew, l.draft.skew))
	return p
}

// PutEvents is the bus with everything that may go wrong with a call.
func (p *publisher) PutEvents(ctx context.Context, in *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error) {
	if d := p.stream.draft; d.outage > 0 && time.Since(p.stream.began)-d.outage < outageTime && time.Since(p.stream.began) >= d.outage {
		if d.hangs {
			<-ctx.Done()
			return nil, harness.ErrTimeout
		}
		return nil, harness.ErrDown
	}
	fails := func(int) string { return "" }
	if n := p.stream.network; n != nil {
		fails = func(index int) string {
			// An entry is named by its place from the beginning, or from the end as -1.
			f := n.planned.injected
			if f.Kind == dynamotest.Unprocessed && (slices.Contains(f.Items, index) || slices.Contains(f.Items, index-len(in.Entries))) {
				return "InternalFailure"
			}
			return ""
		}
	} else if !p.stream.faultsOff.Load() {
		share, r := p.stream.draft.entries, rand.New(rand.NewPCG(p.chance.Uint64(), 0))
		fails = func(int) string {
			if !sometimes(r, share) {
				return ""
			}
			return []string{"InternalFailure", "ThrottlingException"}[r.IntN(2)]
		}
	}
	// A late call writes its answer after this one has returned, so it is no result.
	var answer *eventbridge.PutEventsOutput
	err := p.call(ctx, "PutEvents", func() (err error) {
		answer, err = p.stream.bus.Put(in, fails)
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// SendMessage is the failure queue.
func (p *publisher) SendMessage(ctx context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	var answer *sqs.SendMessageOutput // as above
	err := p.call(ctx, "SendMessage", func() (err error) {
		answer, err = p.stream.bus.Store(in)
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// call makes an outside call, unless something goes wrong.
func (p *publisher) call(ctx context.Context, op string, do func() error) error {
	if p.Dead.Load() {
		runtime.Goexit()
	}
	if n := p.stream.network; n != nil {
		return n.Intercept(ctx, p.Environment, harness.Point{Op: op, Writes: true}, func() error {
			kind := n.planned.injected.Kind
			if kind == dynamotest.ServerError {
				return harness.ErrDown
			}
			if err := do(); err != nil || kind != dynamotest.LostReply {
				return err
			}
			return harness.ErrTimeout
		})
	}
	d, r := p.stream.draft, p.chance
	before, after, dice := between(r, 0, d.latency), between(r, 0, d.latency), r.Float64()
	if p.stream.faultsOff.Load() {
		dice = 1
	}
	happens := func(share float64) bool {
		dice -= share
		return dice < 0 && dice >= -share
	}
	if !lasts(ctx, before) {
		return harness.ErrTimeout
	}
	switch {
	case happens(d.refused):
		return harness.ErrDown
	case happens(d.crash / 2):
		p.Die()
	case happens(d.hang):
		time.Sleep(time.Until(p.Deadline))
		p.Die()
	case happens(d.late):
		late := between(r, 0, 20*time.Minute) // as of an environment that is frozen meanwhile
		p.stream.all.Go(func() {
			time.Sleep(late)
			_ = do() // nobody hears of it
		})
		return harness.ErrTimeout
	}
	err := do()
	switch {
	case happens(d.lost):
		return harness.ErrTimeout
	case happens(d.crash / 2):
		p.Die()
	case !lasts(ctx, after):
		return harness.ErrTimeout
	}
	return err
}

// lasts reports whether the context lasts for that long, and waits.
func lasts(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// stream is Lambda's event source for the table's stream, and PublishFunction behind it.
//
// It draws from random numbers of its own and shares no state with the rest of a
// simulation. So it changes nothing of what else happens in a seed.
type stream struct {
	faultsOff *atomic.Bool // nothing goes wrong any more but the outage and what the bus refuses
	draft     streamDraft
	bus       *harness.Bus
	lanes     []*lane
	began     time.Time
	stop      chan struct{}
	// network has the plan of a scenario; nil in a simulation, where the draft says what goes wrong.
	network *network
	all     sync.WaitGroup // lanes, invocations and late calls
	// chance and judge are used where the table's lock is held.
	chance *rand.Rand
	judge  *harness.EventJudge

	mu    sync.Mutex
	wrong []string
}

// idleShare is the share of records that mean no event, most of them reconciliation's
// cursors of every minute, that are delivered nonetheless: all of them would take more
// time than the events.
const idleShare = 0.1

// lane is a part of the stream whose records are delivered in their order: of a shard's
// records those whose partition keys have some hashes. Lambda delivers one batch of it
// at a time, unless it loses track of one.
type lane struct {
	*stream
	chance  *rand.Rand
	arrived chan struct{} // holds a token after a record has come

	mu      sync.Mutex
	waiting []*harness.PendingRecord
	idle    []*publisher
	frozen  []frozenPublisher
}

type frozenPublisher struct {
	*publisher
	until time.Time
}

// newStream makes the event source of a seed's table.
func newStream(seed uint64, c conditions, db *dynamotest.DB, faultsOff *atomic.Bool) *stream {
	r := rand.New(rand.NewPCG(seed, 0x7075626c697368))
	s := &stream{
		faultsOff: faultsOff, draft: drawStream(r, c), bus: harness.NewBus(), began: time.Now(), stop: make(chan struct{}), chance: r, judge: harness.NewEventJudge(),
	}
	s.bus.Refuses = func(id string) bool { return float64(hashOf(id)%1000) < 1000*s.draft.refusedForever }
	for n := range s.draft.lanes {
		l := &lane{stream: s, chance: rand.New(rand.NewPCG(seed, uint64(n))), arrived: make(chan struct{}, 1)}
		s.lanes = append(s.lanes, l)
		s.all.Go(l.run)
	}
	db.Stream, db.StreamUnchanged = s.record, s.draft.unchanged
	return s
}

// newPlannedStream makes the event source of a scenario: one lane, whose batches are delivered when the
// scenario publishes.
func newPlannedStream(m *simulation) *stream {
	s := &stream{
		faultsOff: &m.n.faultsOff, draft: streamDraft{lanes: 1, batch: 100, latency: 1}, bus: harness.NewBus(), began: time.Now(), stop: make(chan struct{}),
		chance: rand.New(rand.NewPCG(1, 1)), judge: harness.NewEventJudge(), network: m.n,
	}
	s.lanes = []*lane{{stream: s, chance: rand.New(rand.NewPCG(1, 2)), arrived: make(chan struct{}, 1)}}
	m.world.DB.Stream = s.record
	return s
}

// publish delivers all waiting records in one batch.
func (s *scene) publish() {
	l := s.stream.lanes[0]
	done := l.deliver(slices.Clone(l.waiting))
	if a := s.n.chooseFault(harness.Publishing, harness.Point{Op: "Checkpoint"}); a.name == "" {
		l.waiting = l.waiting[done:]
	}
	time.Sleep(time.Second)
}

// takePoison makes poison of the newest record of a claim.
func (s *stream) takePoison(kind int) {
	l := s.lanes[0]
	for _, w := range slices.Backward(l.waiting) {
		if w.Record.New["claimId"] != nil {
			l.addPoison(w.Record, kind)
			return
		}
	}
}

// addPoison has a record come that can never be published; the lane's lock is held.
func (l *lane) addPoison(r dynamotest.Record, kind int) {
	raw, sequence := harness.PoisonRecord(r, kind)
	l.judge.Poison[string(raw)] = true
	l.waiting = append(l.waiting, &harness.PendingRecord{Raw: raw, Sequence: sequence, Since: time.Now()})
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
	if !s.faultsOff.Load() && sometimes(s.chance, s.draft.poison) {
		l.addPoison(r, s.chance.IntN(4))
	}
	l.waiting = append(l.waiting, &harness.PendingRecord{Record: r, Sequence: r.SequenceNumber(), Since: time.Now()})
	select {
	case l.arrived <- struct{}{}:
	default:
	}
}

// finish waits until everything is published that can be, and ends the stream.
func (s *stream) finish() {
	limit := time.Now()
	if end := s.began.Add(s.draft.outage + outageTime); s.draft.outage > 0 && end.After(limit) {
		limit = end
	}
	limit = limit.Add(10 * time.Minute)
	for !s.isEmpty() && time.Now().Before(limit) {
		time.Sleep(10 * time.Second)
	}
	if !s.isEmpty() {
		s.violate("P26: records still wait %v after the faults stopped", time.Since(limit)+10*time.Minute)
	}
	close(s.stop)
	s.all.Wait()
}

func (s *stream) isEmpty() bool {
	return !slices.ContainsFunc(s.lanes, func(l *lane) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.waiting) > 0
	})
}

func (s *stream) violate(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

// run delivers the lane's records until the stream is stopped.
func (l *lane) run() {
	for failures := 0; ; {
		batch := l.next()
		if batch == nil {
			return
		}
		done := l.deliver(batch)
		if !l.faultsOff.Load() && sometimes(l.chance, l.draft.forgotten) {
			done = 0
		}
		l.mu.Lock()
		l.waiting = l.waiting[done:]
		l.mu.Unlock()
		if failures++; done == len(batch) {
			failures = 0
			continue
		}
		if !l.sleeps(min(2*time.Minute, time.Second<<min(failures-1, 7))) {
			return
		}
	}
}

// sleeps reports whether the stream is still running after that time.
func (l *lane) sleeps(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-l.stop:
		return false
	case <-timer.C:
		return true
	}
}

// next waits for records and returns a batch of those that are older than this instant:
// which of the goroutines of one instant comes first must not matter. It returns nil when
// the stream is stopped.
func (l *lane) next() []*harness.PendingRecord {
	for {
		l.mu.Lock()
		var since time.Time
		if len(l.waiting) > 0 {
			since = l.waiting[0].Since
		}
		l.mu.Unlock()
		if since.IsZero() {
			select {
			case <-l.stop:
				return nil
			case <-l.arrived:
			}
			continue
		}
		if !l.sleeps(max(1, time.Until(since.Add(between(l.chance, 0, 1200*time.Millisecond))))) {
			return nil
		}
		l.mu.Lock()
		n := 0
		for n < min(len(l.waiting), l.draft.batch) && l.waiting[n].Since.Before(time.Now()) {
			n++
		}
		batch := slices.Clone(l.waiting[:n])
		l.mu.Unlock()
		return batch
	}
}

// deliver delivers a batch and returns how many of its records, from the first on, need
// not come again.
func (l *lane) deliver(batch []*harness.PendingRecord) (done int) {
	records := make([]json.RawMessage, len(batch))
	for i, e := range batch {
		if e.Raw == nil {
			e.Raw = e.Record.JSON()
		}
		records[i] = e.Raw
	}
	p := l.take()
	answered := make(chan int, 1)
	l.all.Go(func() {
		var answer events.DynamoDBEventResponse
		var err error
		end := p.Invoke(func(ctx context.Context) {
			answer, err = p.handler.Handle(ctx, publishhandler.Batch{Records: records})
		})
		if end.Took > harness.Timeouts[harness.Publishing] {
			l.violate("P16: %s took %v", harness.Publishing, end.Took)
		}
		l.give(p)
		switch {
		case end.Died:
			answered <- 0
		case err != nil:
			l.violate("P26: a batch fails with %v", err)
			answered <- 0
		default:
			answered <- harness.CountHandled(batch, answer)
		}
	})
	if l.faultsOff.Load() || !sometimes(l.chance, l.draft.again) {
		return <-answered
	}
	timer := time.NewTimer(between(l.chance, 0, 5*time.Second))
	defer timer.Stop()
	select {
	case done = <-answered:
		return done
	case <-timer.C:
		return 0
	}
}

// take returns an environment, warm or cold.
func (l *lane) take() *publisher {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, f := range l.frozen {
		if !f.until.After(time.Now()) {
			l.frozen = slices.Delete(l.frozen, i, i+1)
			return f.publisher
		}
	}
	if n := len(l.idle); n > 0 {
		p := l.idle[n-1]
		l.idle = l.idle[:n-1]
		return p
	}
	return l.startPublisher()
}

// give releases an environment, dead or alive.
func (l *lane) give(p *publisher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case p.Dead.Load():
	case !l.faultsOff.Load() && sometimes(p.chance, l.draft.freeze):
		l.frozen = append(l.frozen, frozenPublisher{p, time.Now().Add(between(p.chance, 3*time.Second, 20*time.Minute))})
	default:
		l.idle = append(l.idle, p)
	}
}

// finishStream waits until the stream is published and judges it.
func (m *simulation) finishStream(digest io.Writer) harness.EventFigures {
	m.stream.finish()
	figures, found := m.stream.judge.Judge(m.world.DB.Items(harness.TableName), m.stream.bus, digest)
	for _, text := range slices.Concat(m.stream.wrong, found) {
		m.violate("%s", text)
	}
	return figures
}
