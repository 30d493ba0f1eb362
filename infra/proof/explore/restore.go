package explore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/kit/restore"
	"flashsale/infra/proof/harness"
	"flashsale/shared/httpapi"
)

// restoring is what a seed draws of a restore of the table to an earlier instant, and what is kept
// for it. It draws from random numbers of its own, so that it changes nothing of the seeds without one.
type restoring struct {
	chance *rand.Rand
	at     time.Duration
	back   time.Duration // how much earlier the instant is that the table is restored to

	mu      sync.Mutex
	lines   bytes.Buffer        // the functions' log
	changes []dynamotest.Record // of the table
}

// restoreEvery is how many seeds there are, on average, for one with a restore.
const restoreEvery = 8

func restoreOf(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x726573746f7265)) }

// drawRestore draws when, from before the sale to when it is drained, and how far back.
func drawRestore(r *rand.Rand, d saleDraft) *restoring {
	one := &restoring{chance: r, back: time.Duration(float64(time.Second) * math.Pow(300, r.Float64()))}
	opens := max(0, d.opensAt)
	switch dice := r.Float64(); {
	case dice < 0.1:
		one.at = between(r, 0, opens)
	case dice < 0.7:
		one.at = opens + time.Duration(r.ExpFloat64()*float64(6*time.Second))
	case dice < 0.9 || d.closesAt > time.Hour:
		one.at = opens + between(r, 0, 6*time.Minute)
	default:
		one.at = d.closesAt + between(r, 0, 20*time.Minute)
	}
	return one
}

// Write keeps a log line.
func (r *restoring) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lines.Write(line)
}

// inLog reports whether a log line tells of a claim, or whose claim an order id is. The line of a payment
// has an order id alone.
func (r *restoring) inLog(ids ...string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range bytes.Lines(r.lines.Bytes()) {
		if !slices.ContainsFunc(ids, func(id string) bool { return !bytes.Contains(line, []byte(`Id":"`+id+`"`)) }) {
			return true
		}
	}
	return false
}

// keep keeps what a restore needs.
func (m *simulation) keep(r *restoring) {
	m.restoring, m.world.Log, m.n.keepsAll = r, r, true
	record := m.world.DB.Stream
	m.world.DB.Stream = func(one dynamotest.Record) {
		r.changes = append(r.changes, one)
		record(one)
	}
}

// halved is how far from the instant of the restore one item of a transaction may be from before
// it and another one from after it.
const halved = hiddenAtMost

// choose returns the instant to restore to and the changes that this takes back. Often that is the
// instant of a transaction. No change from before since is taken back.
func (r *restoring) choose(since, now time.Time) (to time.Time, lost []dynamotest.Record, halves int) {
	to = now.Add(-r.back)
	if earliest := since.Add(halved + 1); to.Before(earliest) {
		to = earliest
	}
	if r.chance.IntN(4) > 0 {
		near := to
		for i := 1; i < len(r.changes); i++ {
			if at := r.changes[i].At; at.Equal(r.changes[i-1].At) && at.Sub(since) > halved {
				if near = at; !at.Before(to) {
					break
				}
			}
		}
		to = near
	}
	cuts := map[string]time.Time{} // the instants of the items that changed about then
	var last dynamotest.Record
	var taken, kept bool
	for _, c := range append(slices.Clone(r.changes), dynamotest.Record{At: now.Add(1)}) {
		if !c.At.Equal(last.At) {
			if taken && kept {
				halves++
			}
			taken, kept = false, false
		}
		last = c
		if c.Keys == nil {
			break
		}
		cut, near := to, c.At.Sub(to).Abs() <= halved
		key := harness.Text(c.Keys["pk"]) + "|" + harness.Text(c.Keys["sk"])
		if near && cuts[key].IsZero() {
			cuts[key] = to.Add(between(r.chance, -halved, halved))
		}
		if at, drawn := cuts[key]; drawn {
			cut = at
		}
		if c.At.After(cut) {
			lost, taken = append(lost, c), true
		} else {
			kept = true
		}
	}
	return to, lost, halves
}

// restoreTable puts the table back to an earlier instant, and replays what is known of the time since,
// while every function but PublishFunction is frozen.
func (m *simulation) restoreTable() {
	const who = "restore"
	r := m.restoring
	m.n.wait(who, max(1, time.Until(m.began.Add(r.at))))
	since := time.Time{}
	for _, s := range m.sales {
		at := s.readCreatedAt()
		for ; at.IsZero(); at = s.readCreatedAt() {
			m.n.wait(who, time.Second)
		}
		if at.After(since) {
			since = at
		}
	}
	m.freeze()
	m.n.wait(who, 10*time.Second)
	m.world.DB.Pending()      // late requests have been applied, and
	for !m.stream.isEmpty() { // all events are published
		m.n.wait(who, time.Second)
	}
	m.n.mu.Lock()
	before := map[*runningSale]window{}
	for _, s := range m.sales {
		before[s] = *s.watch.newestWindow()
	}
	m.watch.afterCall(nil, false) // of the late requests
	to, lost, halves := r.choose(since, time.Now())
	m.world.DB.Rewind(lost)
	clear(m.watch.late)
	m.n.unwatched = true
	m.watch.counts["restores"]++
	m.watch.counts["halves"] += halves
	m.n.log.write("the table is restored to %v, %d changes are lost", to.Sub(m.began), len(lost))
	m.n.mu.Unlock()
	archive := m.world.Bus.Archive()
	m.replayLost(to, archive)
	for _, s := range m.sales {
		s.repeatChanges()
	}
	for _, w := range before {
		if w.recalled { // which says more of the orders that it has released
			m.replayLost(to, archive)
			break
		}
	}
	m.adopt(archive)
	m.checkRestored()
	for _, s := range m.sales {
		s.recordPayments(archive)
	}
	for _, s := range m.sales {
		s.repeatEdits(before[s])
	}
	m.checkTold()
	m.thaw()
}

// freeze ends every environment; none starts until thaw.
func (m *simulation) freeze() {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	m.n.frozen = make(chan struct{})
	m.frozenAt = time.Now()
	for _, e := range m.n.made {
		e.Dead.Store(true)
	}
	for f, p := range m.pools {
		if f != harness.Publishing {
			p.running -= len(p.idle)
			p.idle, p.frozen = nil, nil
		}
	}
	m.n.log.write("every function is frozen")
}

func (m *simulation) thaw() {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	m.n.log.write("the functions go on")
	for _, f := range harness.Sorted(m.pools) {
		for p := m.pools[f]; len(p.waiting) > 0 && p.running < p.most; p.running++ {
			p.waiting[0] <- p.n.startLocked(f)
			p.waiting = p.waiting[1:]
		}
	}
	if !m.watch.undisturbedSince.IsZero() {
		m.watch.undisturbedSince = time.Now()
	}
	close(m.n.frozen)
	m.n.frozen, m.n.thawedAt = nil, time.Now()
}

// start starts an environment of the restore itself.
func (m *simulation) start(f harness.Function) *harness.Environment {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	e := m.world.Start(f, 0)
	m.n.numberLocked(e)
	return e
}

// replayLost replays what the log and the published events say, cut off at random.
func (m *simulation) replayLost(to time.Time, archive []byte) {
	r := m.restoring
	var source restore.Source
	r.mu.Lock()
	err := source.Log(bytes.NewReader(r.lines.Bytes()))
	r.mu.Unlock()
	if err == nil {
		err = source.Events(io.MultiReader(bytes.NewReader(archive), strings.NewReader(m.listedPayments(archive))))
	}
	if err != nil {
		m.violate("P11: the log and the events cannot be read: %v", err)
		return
	}
	lost := source.Lost(to)
	for try := range 100 {
		e := m.start(harness.Replaying)
		m.n.mu.Lock()
		m.n.cutReplay = 0
		if try < 3 && r.chance.IntN(3) > 0 {
			m.n.cutReplay = 1 + int(math.Pow(400, r.chance.Float64()))
		}
		m.n.mu.Unlock()
		done, err := e.Replay(lost)
		m.write("the replay to %v: %+v %v", to.Sub(m.began), done, err)
		m.n.mu.Lock()
		m.watch.counts["replayed-claims"] += done.Claims
		m.watch.counts["replayed-orders"] += done.OrderIDs
		m.watch.counts["replayed-ends"] += done.Payments + done.Releases + done.Refunds
		if err == harness.ErrDied {
			m.watch.counts["cut-offs"]++
		}
		m.n.mu.Unlock()
		if err == nil {
			m.n.wait("restore", 10*time.Second) // late requests of it apply
			if len(done.Oversold) > 0 {
				m.violate("P1: after the replay these are oversold: %+v", done.Oversold)
			}
			return
		}
		m.n.wait("restore", time.Second)
	}
	m.violate("P16: the replay does not end")
}

// listedPayments are lines of the event OrderPaid, as an operator adds them by the provider's list: for
// orders of which only a refund due tells that another payment had paid them.
func (m *simulation) listedPayments(archive []byte) string {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	var refunds strings.Builder
	refunds.Write(archive)
	for _, it := range m.world.DB.Items(harness.TableName) {
		fmt.Fprintf(&refunds, "{\"detail\":{\"orderId\":%q,\"reason\":%q}}\n", harness.Text(it["orderId"]), harness.Text(it["reason"]))
	}
	isNeeded := map[string]bool{}
	for line := range strings.Lines(refunds.String()) {
		var e struct {
			Detail struct{ OrderID, Reason string }
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Detail.Reason == "other-payment" {
			isNeeded[e.Detail.OrderID] = !bytes.Contains(archive, []byte(`"OrderPaid:`+e.Detail.OrderID+`"`))
		}
	}
	var lines strings.Builder
	for _, s := range m.sales {
		for _, user := range harness.Sorted(s.watch.claims) {
			if c := s.watch.claims[user]; isNeeded[c.orderID] && harness.IsPayment(c.end) && m.world.DB.Item(harness.TableName, "PAYMENT#"+c.end, "PAYMENT") == nil {
				fmt.Fprintf(&lines, `{"detail-type":"OrderPaid","detail":{"occurredAt":%q,"saleId":%q,"orderId":%q,"claimId":%q,"user":%q,"payment":%q,"amount":%d,"currency":"CNY"}}`+"\n",
					harness.Stamp(time.Now()), s.id, c.orderID, c.id, user, c.end, harness.Price)
			}
		}
	}
	return lines.String()
}

// checkRestored recounts each sale: before that no function may go on.
func (m *simulation) checkRestored() {
	m.n.wait("restore", 10*time.Second) // late requests apply
	all := books.Of(m.world.DB.Items(harness.TableName))
	for _, s := range m.sales {
		receipt, err := all.Recount(context.Background(), s.id, books.Options{Overdue: 1000 * time.Hour})
		if err != nil {
			m.violate("P11: %s, restored: %v", s.id, err)
			continue
		}
		for _, f := range receipt.Findings {
			m.violate("%s, restored: %s: %s", s.id, f.Promise, f.Text)
		}
	}
}

// operate applies a change while everything else is frozen, and returns how many units it withdrew.
func (m *runningSale) operate(event string) int {
	for range 1000 {
		var out struct{ Withdrawn int }
		err := m.start(harness.Seeding).Command(event, &out)
		m.write("operator: %s: %+v %v", event, out, err)
		if err == nil {
			return out.Withdrawn
		}
		if code := harness.CodeOf(err); code == "recalled" && m.watch.isRecalled() {
			return 0
		} else if err != harness.ErrDied && code != "busy" {
			m.violate("P15: %s: %v", event, err)
			return 0
		}
		m.n.wait("restore", time.Second)
	}
	m.violate("P15: %s is never applied", event)
	return 0
}

// repeatChanges repeats additions, withdrawals and a recall. A withdrawal that has not been answered is
// repeated in any case, by who waits for that.
func (m *runningSale) repeatChanges() {
	for _, c := range m.draft.commands[1:] {
		event := m.sentEvents[c.number]
		m.superseded[c.number] = event != "" && c.edit && !c.recalls
		switch {
		case event == "" || c.again >= 0 || c.edit && !c.recalls:
		case c.withdraws:
			m.n.mu.Lock()
			m.stream.judge.Repeated["SaleChanged:"+m.id+":seed:"+seedOf(event)] = true
			delete(m.withdrawn, event)
			m.n.mu.Unlock()
			if !m.ended[c.number] {
				break
			}
			units := m.operate(event)
			m.n.mu.Lock()
			m.withdrawn[event] = units
			m.supplied[event] = -units
			m.n.mu.Unlock()
		default:
			m.operate(event)
		}
	}
}

// repeatEdits gives the sale again the window that it had before the restore, and ends the pause.
func (m *runningSale) repeatEdits(before window) {
	m.n.mu.Lock()
	now := *m.watch.newestWindow()
	m.n.mu.Unlock()
	if now.recalled {
		return
	}
	of := func(action, more string) string {
		return fmt.Sprintf(`{"action":%q,"saleId":%q,"changeId":"%s-again","actor":"ana"%s}`, action, m.id, action, more)
	}
	if !now.opensAt.Equal(before.opensAt) || !now.closesAt.Equal(before.closesAt) {
		m.operate(of("reschedule", fmt.Sprintf(`,"opensAt":%q,"closesAt":%q`, harness.Stamp(before.opensAt), harness.Stamp(before.closesAt))))
	}
	if now.paused && !before.paused {
		m.operate(m.looking(of("resume", "")))
	}
	if !now.paused && before.paused {
		m.operate(of("pause", ""))
	}
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	if m.editing == 0 {
		settled := *m.watch.newestWindow()
		m.watch.answeredWindow = &settled
	}
}

// recordPayments records the payments of the providers' lists again. If no event of one has been
// published, because the bus takes it never, nothing says when it was recorded, nor what became of it.
func (m *runningSale) recordPayments(archive []byte) {
	m.n.mu.Lock()
	listed := slices.Clone(m.listed)
	m.n.mu.Unlock()
	for _, p := range listed {
		refund, isPaid := "RefundDue:"+m.id+":"+p.ID(), bytes.Contains(archive, []byte(`"OrderPaid:`+p.Order+`"`))
		m.n.mu.Lock()
		if !isPaid {
			m.stream.judge.Repeated[refund] = true
		}
		if told := m.paid[p]; told.Outcome == "paid" && !isPaid || told.IsRefund() && !bytes.Contains(archive, []byte(`:`+p.ID()+`"`)) {
			delete(m.paid, p)
		}
		m.n.mu.Unlock()
		m.reportTo(p, m.id+" "+p.ID()+" of the list", func(_ string, request httpapi.Request) (r harness.Reply, ok bool) {
			r, ok = m.start(harness.Paying).Ask("", request)
			return r, ok
		})
	}
}
