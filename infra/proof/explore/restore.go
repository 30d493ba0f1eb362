package explore

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/kit/restore"
	"flashsale/infra/proof/harness"
)

// restoring is what is kept for a restore of the table to an earlier instant. It draws from random numbers
// of its own, so that it changes nothing of the seeds without one.
type restoring struct {
	chance *rand.Rand

	mu      sync.Mutex
	lines   bytes.Buffer        // the functions' log
	changes []dynamotest.Record // of the table
}

// restoreEvery is how many seeds there are, on average, for one with a restore.
const restoreEvery = 8

func restoreOf(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x726573746f7265)) }

// Write keeps a log line.
func (r *restoring) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lines.Write(line)
}

// keep keeps what a restore needs.
func (m *simulation) keep(r *restoring) {
	m.restoring, m.world.Log = r, r
	record := m.world.DB.Stream
	m.world.DB.Stream = func(one dynamotest.Record) {
		r.changes = append(r.changes, one)
		record(one)
	}
}

// halved is how far from the instant of the restore one item of a transaction may be from before
// it and another one from after it.
const halved = hiddenAtMost

// choose returns the instant of a transaction to restore to, and the changes that this takes back: none
// from before since. halves are the transactions of which it takes back a part.
func (r *restoring) choose(since time.Time) (to time.Time, lost []dynamotest.Record, halves int) {
	var instants []time.Time
	for i := 1; i < len(r.changes); i++ {
		if at := r.changes[i].At; at.Equal(r.changes[i-1].At) && at.Sub(since) > halved {
			instants = append(instants, at)
		}
	}
	if len(instants) == 0 {
		return since, nil, 0
	}
	to = instants[r.chance.IntN(len(instants))]
	cuts := map[string]time.Time{} // the instants of the items that changed about then
	taken, kept := map[time.Time]bool{}, map[time.Time]bool{}
	for _, c := range r.changes {
		key := harness.Text(c.Keys["pk"]) + "|" + harness.Text(c.Keys["sk"])
		if c.At.Sub(to).Abs() <= halved && cuts[key].IsZero() {
			cuts[key] = to.Add(between(r.chance, -halved, halved))
		}
		cut, drawn := cuts[key]
		if !drawn {
			cut = to
		}
		if c.At.After(cut) {
			lost, taken[c.At] = append(lost, c), true
		} else {
			kept[c.At] = true
		}
	}
	for at := range taken {
		if kept[at] {
			halves++
		}
	}
	return to, lost, halves
}

// restoreTable puts the table of a simulation that has ended back to an earlier instant, replays what is
// known of the time since, and repeats what operators and providers repeat. Every function is frozen.
func (m *simulation) restoreTable() {
	r, before := m.restoring, map[string]books.Claim{}
	since := m.began
	for _, s := range m.sales {
		since = slices.MaxFunc([]time.Time{since, s.createdAt}, time.Time.Compare)
		for _, c := range harness.ReadBooks(m.world.DB, s.id).Claims {
			before[s.id+" "+c.User] = c
		}
	}
	to, lost, halves := r.choose(since)
	m.n.unwatched, m.world.DB.Stream = true, nil
	m.world.DB.Rewind(lost)
	m.watch.counts["restores"]++
	m.watch.counts["halves"] += halves
	for f, p := range m.pools {
		m.pools[f] = &pool{n: m.n, function: f, most: p.most} // its environments are new
	}
	m.write("the table is restored to %v, %d changes are lost", to.Sub(m.began), len(lost))
	m.replayLost(to)
	for _, s := range m.sales {
		s.repeatChanges()
		if s.watch.isRecalled() { // which says more of the orders that it has released
			m.replayLost(to)
		}
	}
	for _, s := range m.sales {
		s.checkRestored(before)
		known := to.Add(-halved) // what was answered by then
		s.checkMoney(known)
		var again []harness.RefundReport
		for report, at := range s.backAt {
			if at.After(known) {
				again = append(again, report)
			}
		}
		slices.SortFunc(again, func(a, b harness.RefundReport) int {
			return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.State, b.State))
		})
		r.chance.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
		for i, report := range again {
			s.reportRefund(report, fmt.Sprint(s.id, " ", report.ID, " again ", i))
		}
		for _, p := range s.recordedPayments() {
			s.reportPayment(p, s.id+" "+p.ID()+" of the list")
		}
		s.checkMoney(time.Time{})
	}
}

// start starts an environment outside the pools.
func (m *simulation) start(f harness.Function) *harness.Environment {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	e := m.world.Start(f, 0)
	m.n.numberLocked(e)
	return e
}

// replayLost replays what the log and the published events say, cut off at random.
func (m *simulation) replayLost(to time.Time) {
	r := m.restoring
	source := restore.NewSource()
	err := source.Log(bytes.NewReader(r.lines.Bytes()))
	if err == nil {
		err = source.Events(bytes.NewReader(m.world.Bus.Archive()))
	}
	if err != nil {
		m.violate("P11: the log and the events cannot be read: %v", err)
		return
	}
	lost := source.Lost(to)
	for try := range 100 {
		e := m.start(harness.Replaying)
		m.n.cutReplay = 0
		if try < 3 && r.chance.IntN(3) > 0 {
			m.n.cutReplay = 1 + int(math.Pow(400, r.chance.Float64()))
		}
		done, err := e.Replay(lost)
		m.write("the replay to %v: %+v %v", to.Sub(m.began), done, err)
		m.watch.counts["replayed-claims"] += done.Claims
		m.watch.counts["replayed-orders"] += done.OrderIDs
		m.watch.counts["replayed-ends"] += done.Payments + done.Releases + done.Refunds
		m.n.wait("restore", 10*time.Second) // late requests of it apply
		if err == nil {
			if len(done.Oversold) > 0 {
				m.violate("P1: after the replay these are oversold: %+v", done.Oversold)
			}
			return
		}
		if err == harness.ErrDied {
			m.watch.counts["cut-offs"]++
		}
	}
	m.violate("P16: the replay does not end")
}

// repeatChanges repeats additions, withdrawals and a recall.
func (m *runningSale) repeatChanges() {
	events := harness.Sorted(m.supplied)
	for _, c := range m.draft.commands {
		if c.recalls {
			events = append(events, m.sentEvents[c.number])
		}
	}
	for _, event := range events {
		if event != m.sentEvents[0] {
			m.operate(event)
		}
	}
}

// operate applies a change while everything else is frozen.
func (m *runningSale) operate(event string) {
	for range 1000 {
		var out struct{ Withdrawn int }
		err := m.invoke(harness.Seeding, "operator", event, &out)
		m.write("operator: %s: %+v %v", event, out, err)
		switch code := harness.CodeOf(err); {
		case err == nil || code == "recalled" && m.watch.isRecalled():
			return
		case err != harness.ErrDied && code != "busy":
			m.violate("P15: %s: %v", event, err)
			return
		}
		m.n.wait("restore", time.Second)
	}
	m.violate("P15: %s is never applied", event)
}

// checkRestored recounts the sale and compares its claims with those from before the restore: each must be
// there, with its order and its end, and no other.
func (m *runningSale) checkRestored(before map[string]books.Claim) {
	b := harness.ReadBooks(m.world.DB, m.id)
	for _, text := range b.Recount(1000 * time.Hour) {
		m.violate("%s, restored: %s", m.id, text)
	}
	sold := m.world.DB.Item(harness.TableName, "SALE#"+m.id, "SALE")
	if until, _ := harness.Number(sold["payUntil"]); !b.Drained && until < m.watch.payUntil.UnixMilli() && !m.watch.payUntil.IsZero() {
		m.violate("P38: before the restore unpaid orders had time until %v, and after the replay until %v", m.watch.payUntil, time.UnixMilli(until))
	}
	for _, user := range harness.Sorted(m.watch.claims) {
		was, is := before[m.id+" "+user], b.Claim(user)
		switch {
		case is.ClaimID != was.ClaimID || is.OrderID != was.OrderID:
			m.violate("P7: before the restore %s had claim %s with order %s, and after the replay %q with %q", user, was.ClaimID, was.OrderID, is.ClaimID, is.OrderID)
		case is.End() != was.End() || is.CancelledAt != was.CancelledAt || is.Unit != was.Unit:
			m.violate("P20: before the restore the claim of %s ended as %q, cancelled %d, its unit %q, and after the replay as %q, %d, %q",
				user, was.End(), was.CancelledAt, was.Unit, is.End(), is.CancelledAt, is.Unit)
		}
	}
	for _, c := range b.Claims {
		if m.watch.claims[c.User] == nil {
			m.violate("P2: the replay made a claim of %s that never was", c.User)
		}
	}
}
