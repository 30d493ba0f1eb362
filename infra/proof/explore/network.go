package explore

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/harness"
)

// faultRates is the frequency of each fault; all shares are in [0,1].
type faultRates struct {
	table dynamotest.Rates
	// sends is the share of queue calls that are refused, and also of those whose reply
	// is lost.
	sends float64
	// latency is the usual maximum for a call or its answer to arrive; slow is the
	// share that take up to slowest instead.
	latency time.Duration
	slow    float64
	// crash is the share of calls at which the environment dies, recycle the share of
	// invocations after which it is not used again, freeze the share after which it is
	// not used for a long time.
	crash, recycle, freeze float64
	disorder               harness.DisorderRates
}

const slowest = 1500 * time.Millisecond

// drawFaultRates draws each fault with equal chances of none, some and many.
func drawFaultRates(r *rand.Rand) faultRates {
	rate := func(much float64) float64 { return []float64{0, much / 5, much}[r.IntN(3)] }
	w := faultRates{
		table: dynamotest.Rates{
			Conflict: rate(0.2), Throttle: rate(0.1), ServerError: rate(0.1), LostReply: rate(0.15),
			ApplyLate: rate(0.1), Unprocessed: rate(0.3), Late: between(r, time.Millisecond, 4*time.Second),
		},
		sends:   rate(0.3),
		latency: between(r, 2*time.Millisecond, 40*time.Millisecond),
		slow:    rate(0.05),
		crash:   rate(0.02),
		recycle: rate(0.2),
	}
	w.disorder.Shuffled, w.disorder.Twice = rate(1), rate(0.3)
	return w
}

// network intercepts the calls of a simulation: they take time, fail at the drawn rates,
// and are watched and logged.
type network struct {
	*schedule
	world *harness.World
	watch *watch
	log   *journal
	// stream is nil in most scenarios.
	stream *stream

	// pages are those of a roll that are not empty, by their sale.
	pages map[string]map[byte]bool

	// planned decides what goes wrong in a scenario; nil in a simulation, where the rates do.
	planned *planned

	mu        sync.Mutex // one call at a time reaches table or queue
	rates     faultRates
	faultsOff atomic.Bool
	fault     func(dynamotest.Call) dynamotest.Fault // by the rates
	skew      time.Duration                          // maximum error of a clock
	// The current call: its caller, when it was sent, its fault, whether it may be applied later, for how
	// long half of its writes is hidden, and its items, as the table read them.
	caller    harness.Function
	sent      time.Time
	faultName string
	late      bool
	hidden    time.Duration
	touched   []string
	spared    bool // it meets no fault
	unwatched bool // the table has been restored
	// cutReplay counts down the instants at which the replay may be cut off, two for each call; 0 is never.
	cutReplay int
}

func (n *network) Intercept(ctx context.Context, e *harness.Environment, p harness.Point, do func() error) error {
	n.exitIfDead(e)
	if n.isOfNobody(p) || n.planned != nil && p.IsPart() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.spared = true
		defer func() { n.spared = false }()
		return do()
	}
	if n.planned != nil {
		return n.follow(ctx, e, p, do)
	}
	sent := time.Now()
	deadline, _ := ctx.Deadline()
	var after time.Duration
	var crash float64
	name := p.String()
	n.pass(e.Invocation, name, deadline, func(r *rand.Rand) time.Duration {
		before := n.oneWayLatency(r, e.Function)
		if r.IntN(2) == 0 {
			after = n.oneWayLatency(r, e.Function)
		}
		crash = r.Float64()
		return before
	})
	n.exitIfDead(e)
	if expired(deadline) {
		n.note(e, name, "not sent in time")
		return harness.ErrTimeout
	}
	if e.Function == harness.Publishing && n.stream.isDown() && n.stream.draft.hangs {
		n.pass(e.Invocation, name, deadline, func(*rand.Rand) time.Duration { return time.Hour })
		return harness.ErrTimeout
	}
	if n.crashes(e.Function, crash) {
		n.note(e, name, "crash before")
		e.Die()
	}
	hidden, err := n.execute(e, p, sent, do)
	after = max(after, hidden)
	if n.crashes(e.Function, 1-crash) {
		n.note(e, name, "crash after")
		e.Die()
	}
	if after > 0 {
		n.pass(e.Invocation, name, deadline, func(*rand.Rand) time.Duration { return after })
		n.exitIfDead(e)
		if expired(deadline) {
			n.note(e, name, "not answered in time")
			return harness.ErrTimeout
		}
	}
	return err
}

// isOfNobody reports whether the call reads a page of a roll that is empty. There are more than two
// hundred, whose reads neither take time nor fail: they would be most of what happens in a draw.
func (n *network) isOfNobody(p harness.Point) bool {
	saleID, page, ok := p.Page()
	return ok && n.pages[saleID] != nil && !n.pages[saleID][page]
}

// exitIfDead ends the goroutine if its environment has died meanwhile.
func (n *network) exitIfDead(e *harness.Environment) {
	if e.Dead.Load() {
		runtime.Goexit()
	}
}

func expired(deadline time.Time) bool { return !deadline.IsZero() && !time.Now().Before(deadline) }

// oneWayLatency draws how long a call or its answer takes to arrive.
func (n *network) oneWayLatency(r *rand.Rand, f harness.Function) time.Duration {
	if !n.faultsOff.Load() && r.Float64() < n.rates.slow {
		return between(r, 0, slowest)
	}
	return between(r, time.Millisecond, n.rates.latency)
}

func (n *network) crashes(f harness.Function, dice float64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if f == harness.Replaying {
		n.cutReplay--
		return n.cutReplay == 0
	}
	if n.faultsOff.Load() || dice >= n.rates.crash {
		return false
	}
	n.watch.counts["faults"]++
	return true
}

// execute makes the call and watches its effects.
func (n *network) execute(e *harness.Environment, p harness.Point, sent time.Time, do func() error) (hidden time.Duration, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.watch.counts["operations"]++
	n.faultName, n.late, n.hidden, n.touched = "", false, 0, nil
	n.caller, n.sent = e.Function, sent
	err = do()
	if e.Function == harness.Reconciling && p.Op == "SendMessage" && err == nil {
		n.watch.counts["resent"]++
	}
	switch {
	case n.unwatched:
	case p.Writes:
		n.watch.afterCall(n.touched, n.late)
	default:
		n.watch.afterCall(nil, false)
	}
	n.log.write("%s %d #%d %v: %s%v", e.Function, e.Number, e.Invocation, p, n.faultName, err)
	return n.hidden, err
}

func (n *network) write(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.log.write(format, args...)
}

func (n *network) note(e *harness.Environment, name, what string) {
	n.write("%s %d #%d %s: %s", e.Function, e.Number, e.Invocation, name, what)
}

// tableFault is the table's source of faults. n.mu is held: only execute
// calls the table.
func (n *network) tableFault(c dynamotest.Call) dynamotest.Fault {
	if n.spared {
		return dynamotest.Fault{}
	}
	n.touched = c.Keys
	if n.planned != nil {
		n.count(n.planned.injected)
		return n.planned.injected
	}
	f := n.fault(c)
	f.Delay, f.TornBy = 0, min(f.TornBy, time.Since(n.sent)) // it has waited without the lock
	// DynamoDB's reads may always lag and show half of a transaction, and those of several items be of two instants.
	if n.hidden = f.HiddenFor; n.faultsOff.Load() {
		return dynamotest.Fault{Stale: f.Stale, Hidden: f.Hidden, HiddenFor: f.HiddenFor, Torn: f.Torn, TornBy: f.TornBy}
	}
	f.ReplyDelay = 0 // call waits instead, without the lock
	n.count(f)
	return f
}

func (n *network) queueFault(op string) dynamotest.Fault {
	if n.planned != nil {
		return n.planned.injected
	}
	if n.faultsOff.Load() {
		return dynamotest.Fault{}
	}
	var f dynamotest.Fault
	switch dice := n.random(); {
	case dice < n.rates.sends:
		f.Kind = dynamotest.ServerError
	case dice < 2*n.rates.sends:
		f.Kind = dynamotest.LostReply
		f.After = time.Duration(n.random() * float64(2*time.Second))
	}
	n.count(f)
	return f
}

var faultNames = map[dynamotest.Kind]string{
	dynamotest.Conflict: "conflict", dynamotest.Throttle: "throttled", dynamotest.ServerError: "server error",
	dynamotest.LostReply: "reply lost", dynamotest.ApplyLate: "applied late", dynamotest.Unprocessed: "unprocessed",
	dynamotest.Cancel: "cancelled",
}

func (n *network) count(f dynamotest.Fault) {
	if f.Kind == dynamotest.NoFault {
		return
	}
	n.watch.counts["faults"]++
	n.faultName = faultNames[f.Kind] + ": "
	n.late = f.Kind == dynamotest.ApplyLate
}

// stopFaults ends all faults.
func (n *network) stopFaults() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faultsOff.Store(true)
	n.watch.calmSince = time.Now()
	n.log.write("everything is calm")
}
