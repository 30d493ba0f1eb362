package explore

import (
	"context"
	"crypto/sha512"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/proof/harness"
	"flashsale/shared/beacon"
)

// drawDraft is what a seed draws of a sale whose buyers are drawn. Instants are counted from the
// beginning.
type drawDraft struct {
	enterFrom, enterUntil time.Duration
	entrants              []entrant
	// until is when the faults stop, which may be at any point of the draw.
	until time.Duration
	dice  diceDraft
	// callsAfter is how many calls follow after the faults at most.
	callsAfter int
}

// entrant is one user, who may or may not enter.
type entrant struct {
	user, key string
	enters    []time.Duration
	asks      bool // for the entry, after each of them
	// eager is how often the user comes in each call, whoever is called.
	eager int
}

const (
	// keepFor is the shortest time for which a unit can be kept.
	keepFor = time.Hour
	// entrantsAtMost bounds the users of a draw: each has a page of the roll, which is read and
	// written under faults.
	entrantsAtMost = 14
)

// drawDrawnSale draws a sale with a draw. Its commands come at any time until the faults stop.
func drawDrawnSale(r *rand.Rand, c conditions, users int) saleDraft {
	c.late = false
	s := drawSale(r, c, 0, max(3, min(users, 2+r.IntN(entrantsAtMost-1))), 0)
	s.stock = 1 + r.IntN(len(s.buyers))
	if sometimes(r, 0.5) {
		s.stock = 1 + r.IntN(1+len(s.buyers)/4) // for several calls
	}
	s.shards = 1 + r.IntN(min(4, s.stock))
	d := &drawDraft{enterFrom: between(r, 0, time.Minute), dice: drawDice(r), callsAfter: 2}
	d.enterUntil = d.enterFrom + between(r, time.Minute, 6*time.Minute)
	s.opensAt = d.enterUntil + harness.DrawTimes.Lead() + between(r, 0, 3*time.Minute)
	s.closesAt = s.opensAt + between(r, time.Hour, 4*time.Hour)
	if sometimes(r, 0.3) {
		s.closesAt = s.opensAt + between(r, 5*time.Minute, 70*time.Minute)
	}
	d.until = between(r, d.enterUntil, s.closesAt+time.Minute)
	if sometimes(r, 0.4) {
		d.until = between(r, d.enterUntil, s.opensAt+10*time.Minute)
	}
	for i := range s.buyers {
		b := &s.buyers[i]
		e := entrant{user: b.user, key: b.clicks[0].key, asks: sometimes(r, 0.5), eager: r.IntN(3)}
		b.clicks = b.clicks[:1]
		switch dice := r.Float64(); {
		case dice < 0.1: // never
		case dice < 0.3: // at the end
			for range 1 + r.IntN(3) {
				e.enters = append(e.enters, d.enterUntil+between(r, -5*time.Second, 5*time.Second))
			}
		default:
			for range 1 + r.IntN(3) {
				e.enters = append(e.enters, between(r, max(0, d.enterFrom-20*time.Second), d.enterUntil))
			}
			if sometimes(r, 0.3) {
				e.enters = append(e.enters, d.enterUntil+between(r, 0, 2*harness.DrawTimes.Settle))
			}
		}
		slices.Sort(e.enters)
		d.entrants = append(d.entrants, e)
	}
	s.draw = d
	s.commands = drawCommands(r, s, c)
	return s
}

// drawDrawCommands draws what an operator does in a draw: pauses that may last until after a call
// is due, and more time for a call, or for the whole sale.
func drawDrawCommands(r *rand.Rand, s saleDraft) (all []command) {
	d := s.draw
	for n := range 1 + r.IntN(3) {
		id, longer, end, later := fmt.Sprint("later-", n), between(r, -5*time.Minute, 20*time.Minute), between(r, -time.Minute, time.Hour), between(r, 0, 3*time.Minute)
		at := between(r, 0, d.until)
		if n > 0 {
			at = between(r, min(s.opensAt, d.until), d.until)
		}
		all = append(all, command{at: at, edit: true, again: -1, mayConflict: true, inDraw: func(m *runningSale, now time.Time) string {
			begins, ends, until, call := m.windowOfDraw()
			if call == 0 {
				begins = begins.Add(later)
			}
			ask := fmt.Sprintf(`"opensAt":%q,"closesAt":%q`, harness.Stamp(begins), harness.Stamp(ends.Add(end)))
			if call > 0 {
				ask += fmt.Sprintf(`,"until":%q`, harness.Stamp(until.Add(longer)))
			}
			return fmt.Sprintf(`{"action":"reschedule","saleId":%q,"changeId":%q,%s,"at":%q}`, s.id, id, ask, harness.Stamp(now))
		}})
	}
	return all
}

// windowOfDraw is from when until when the sale lasts, and until when its newest call does.
func (m *runningSale) windowOfDraw() (begins, ends, until time.Time, call int64) {
	it := m.world.DB.Item(harness.TableName, "SALE#"+m.id, "SALE")
	at := func(name string) time.Time {
		n, _ := harness.Number(it[name])
		return time.UnixMilli(n)
	}
	call, _ = harness.Number(it["call"])
	return at("beginsAt"), at("endsAt"), at("closesAt"), call
}

// runEntrants runs everybody who may enter or buy until the faults stop.
func (m *runningSale) runEntrants() {
	d := m.draft.draw
	var all sync.WaitGroup
	for _, e := range d.entrants {
		all.Go(func() {
			for i, at := range e.enters {
				m.n.wait(m.id+" "+e.user, max(time.Microsecond, time.Until(m.began.Add(at))))
				m.askEntry(e.user, "enters", "PUT")
				if e.asks || i > 0 {
					m.askEntry(e.user, "looks", "GET")
				}
			}
		})
	}
	name := m.id + " crowd"
	visit := func(e entrant, at time.Time, who string) {
		all.Go(func() {
			m.n.wait(who, max(time.Microsecond, time.Until(at)))
			if r := m.click(e.user, e.key, 0, who); r.Status == 202 && m.draft.payWithin > 0 && m.paysFirst(e.user) {
				m.payOrCancel(buyer{user: e.user})
			}
		})
	}
	stop := m.began.Add(d.until)
	m.n.wait(name, time.Microsecond)
	for _, e := range d.entrants { // before anybody is called
		if at := m.began.Add(draw(m.n.schedule, func(r *rand.Rand) time.Duration { return between(r, 0, m.draft.opensAt+time.Minute) })); at.Before(stop) && e.eager > 0 {
			visit(e, at, m.id+" "+e.user+" too early")
		}
	}
	for known := 0; time.Now().Before(stop); {
		m.n.wait(name, max(time.Microsecond, min(20*time.Second, time.Until(stop))))
		m.n.mu.Lock()
		calls, until := len(m.watch.draw.calls), time.Time{}
		if calls > 0 {
			until = m.watch.draw.calls[calls-1].until
		}
		m.n.mu.Unlock()
		if calls == known {
			continue
		}
		known = calls
		for _, e := range d.entrants {
			for i, at := range draw(m.n.schedule, func(r *rand.Rand) []time.Time { return drawVisits(r, e, until) }) {
				if at.Before(stop) {
					visit(e, at, fmt.Sprint(m.id, " ", e.user, " in call ", calls, " ", i))
				}
			}
		}
	}
	all.Wait()
}

// drawVisits draws when a user comes in a call that has just begun: at once, at its end, or in
// between.
func drawVisits(r *rand.Rand, e entrant, until time.Time) (all []time.Time) {
	for range r.IntN(2) + r.IntN(1+e.eager) {
		at := time.Now().Add(time.Duration(r.ExpFloat64() * float64(15*time.Second)))
		switch dice := r.Float64(); {
		case dice < 0.25:
			at = until.Add(between(r, -40*time.Second, 40*time.Second))
		case dice < 0.5:
			at = time.Now().Add(between(r, 0, time.Until(until)))
		}
		all = append(all, at)
	}
	return all
}

// paysFirst reports whether the user has not begun to pay yet.
func (m *runningSale) paysFirst(user string) bool {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	if m.watch.draw.pays[user] {
		return false
	}
	m.watch.draw.pays[user] = true
	return true
}

// askEntry sends a request about a user's entry and judges the answer (P27).
func (m *runningSale) askEntry(user, does, method string) {
	sent := time.Now()
	e := m.pools[harness.Purchasing].take(m.id + " " + user + " " + does)
	began := time.Now()
	r, ok := e.As(user, m.id, method+" /sales/{saleId}/entries/me")
	m.pools[harness.Purchasing].give(e)
	m.write("%s %s, entries of %s: %t %d %s", user, does, m.id, ok, r.Status, r.Body)
	m.checkEntry(user, r, ok, sent, began)
}

// toldEntry is what an answer says of an entry. What it says of the turn is judged by what a purchase is told.
type toldEntry struct{ Nonce, Leaf, EnteredAt, Rank string }

// goesOn reports whether an entry is the same as it was told before. An environment may not know of the dice yet, which
// give it a rank, that another one has told.
func (e toldEntry) goesOn(before toldEntry) bool {
	if before.Rank == "" || e.Rank == "" {
		before.Rank = e.Rank
	}
	return e == before
}

func (m *runningSale) checkEntry(user string, r harness.Reply, ok bool, sent, began time.Time) {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	w, d, now := m.watch, m.watch.draw, time.Now()
	enteredAt, entered := d.enteredAt[user]
	entered = entered && enteredAt.Before(sent)
	switch {
	case !ok || r.Code == "busy":
	case r.Status == 200:
		w.counts["entries"]++
		told, first := toldEntry{}, d.entries[user]
		if err := json.Unmarshal([]byte(r.Body), &told); err != nil || told.Leaf == "" || first.Leaf != "" && !told.goesOn(first) {
			w.violate("P27: %s was told %+v, then %s", user, first, r.Body)
		}
		if d.entries[user] = told; d.roll != "" && !d.isOn[user] {
			w.violate("P27: %s was told of an entry, and is not on the roll", user)
		}
		if _, known := d.enteredAt[user]; !known {
			d.enteredAt[user] = now
		}
	case r.Code == "entering-not-open" && sent.Add(-w.skew).Before(d.enterFrom):
	case (r.Code == "entering-closed" || r.Code == "entry-not-found") && !entered && !(d.isOn[user] && d.rolledAt.Before(began)):
		if r.Code == "entering-closed" {
			w.counts["entries-too-late"]++
			if now.Add(w.skew).Before(d.enterUntil) {
				w.violate("P27: %s was told at %v that entering is over", user, now.Sub(m.began))
			}
		}
	case (r.Code == "sale-not-found" || r.Code == "recalled") && w.wasShut(r.Code, began.Add(-harness.RefusalAge), sent, now):
	default:
		w.violate("P27: %s has entered: %t, is on the roll: %t, and is told %d %q", user, entered, d.isOn[user], r.Status, r.Code)
	}
}

// leadOnceOrTwice runs the draw function, as its schedule does, which may invoke it twice.
func (m *simulation) leadOnceOrTwice(minute int) {
	if m.drawsEnded.Load() {
		return
	}
	runs := 1
	if m.n.random() < 0.15 {
		runs = 2
	}
	for i := range runs {
		go func() {
			who := fmt.Sprint("draw ", minute, " ", i)
			m.n.pass(0, who, time.Time{}, func(r *rand.Rand) time.Duration { return between(r, 0, time.Duration(i)*20*time.Second) })
			m.lead(who)
		}()
	}
}

// lead runs the draw function once.
func (m *simulation) lead(who string) {
	m.runScheduled(harness.Drawing, who, "P31")
}

// runScheduled runs a scheduled function once, which may fail for lack of time or luck only.
func (m *simulation) runScheduled(f harness.Function, who, promise string) {
	var out json.RawMessage
	err := m.invoke(f, who, "{}", &out)
	m.write("%s: %s %v", who, out, err)
	if err != nil && !errors.Is(err, harness.ErrDied) && harness.CodeOf(err) != "busy" {
		m.violate("%s: %s fails with %v", promise, f, err)
	}
}

// isDull reports whether nothing is due for minutes: a call runs that everybody knows of, every
// order is confirmed, and paid or released, and what has ended is drained. A draw lasts for hours, most of
// which are so.
func (m *simulation) isDull() bool {
	if m.sales[0].draft.draw == nil {
		return false
	}
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	d := m.watch.sales[m.sales[0].id].draw
	if len(d.calls) == 0 || m.world.Queue.Depth() > 0 {
		return false
	}
	for _, s := range m.sales {
		if m.watch.sales[s.id].isRecalled() || time.Until(s.watch.newestWindow().endsAt) <= 0 && s.isToBeDrained() {
			return false
		}
		for _, c := range m.watch.sales[s.id].claims {
			if c.orderID == "" || s.draft.payWithin > 0 && c.end == "" {
				return false
			}
		}
	}
	last := d.calls[len(d.calls)-1]
	return last.hi != "" && !last.callsNobody() && time.Since(last.from) > 10*time.Minute && time.Until(last.until) > 2*time.Minute
}

// finishDraw leads a draw on after the faults, for some calls or until nothing follows. Each who is called
// gets a unit (P30); that what is due is done within three minutes is in the recount (P31).
func (m *runningSale) finishDraw() {
	if m.draft.draw == nil {
		return
	}
	m.n.mu.Lock()
	before := len(m.watch.draw.calls)
	m.n.mu.Unlock()
	for minute, served := 1, 0; minute < 5*60; minute++ {
		m.n.wait("director", time.Minute)
		m.n.mu.Lock()
		calls, sale, left, last := len(m.watch.draw.calls), *m.watch.newestWindow(), m.watch.total, watchedCall{}
		if calls > 0 {
			last = *m.watch.draw.calls[calls-1]
		}
		m.n.mu.Unlock()
		if sale.recalled || !time.Now().Before(sale.endsAt) {
			return
		}
		if last.isRunning() && calls > served {
			served = calls
			m.serveCall(calls)
		}
		if last.open && last.hi != "" || calls >= before+m.draft.draw.callsAfter || !last.isRunning() && (sale.paused || left == 0) {
			return
		}
		if minute%10 > 0 || last.hi != "" && last.isRunning() {
			continue // nothing is due before its end
		}
		for _, text := range harness.ReadBooks(m.world.DB, m.id).Recount(books.AtOnce) {
			if strings.HasPrefix(text, "P31") {
				m.violate("%s: %s", m.id, text)
				return
			}
		}
	}
}

// serveCall has everybody who is called buy, if there is time, and the others try.
func (m *runningSale) serveCall(number int) {
	m.n.mu.Lock()
	last := *m.watch.draw.calls[number-1]
	m.n.mu.Unlock()
	m.n.wait("director", time.Until(last.from.Add(m.watch.skew+harness.RefusalAge)))
	for _, e := range m.draft.draw.entrants {
		m.n.mu.Lock()
		isCalled, holds, left := m.watch.draw.callOf[e.user] == number, m.watch.claims[e.user] != nil, time.Until(last.until)
		m.n.mu.Unlock()
		if holds || left < m.watch.skew+time.Minute {
			continue
		}
		if r := m.buyUntilAnswered(e.user, e.key, 0); isCalled && r.Status != 202 && r.Code != "already-ordered" && r.Code != "sale-paused" && r.Code != "recalled" {
			m.violate("P30: %s is called, comes %v before the end, and is told %d %q", e.user, left, r.Status, r.Code)
		}
	}
}

// addDraw prepares the draw of a sale.
func (m *simulation) addDraw(s saleDraft) {
	w := m.watch.sales[s.id]
	w.draw = newWatchedDraw(s.draw)
	m.n.pages = map[string]map[byte]bool{s.id: harness.PagesOf(w.draw.users)}
	m.n.spared = true
	harness.StoreEmptyPages(m.world.DB, s.id, w.draw.users)
	m.n.spared = false
}

// applyLateWrites applies the writes that have not been applied yet.
func (m *simulation) applyLateWrites() {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	m.world.DB.ApplyPending()
	m.watch.afterCall(nil, false)
}

// endDraws ends the schedule of DrawFunction.
func (m *simulation) endDraws() {
	if m.pools[harness.Drawing] != nil {
		m.drawsEnded.Store(true)
		m.n.wait("director", 3*time.Minute)
	}
}

// isCutOff reports whether a receipt that was begun then only says that a call has not reached every
// shard for minutes, as it should if every run since has died. The call may be complete meanwhile.
func (m *simulation) isCutOff(r receipt, began time.Time) bool {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	w := m.watch.sales[r.SaleID]
	if w == nil || w.draw == nil || m.n.faultsOff.Load() {
		return false
	}
	isOther := func(finding string) bool { return !strings.HasSuffix(finding, "(P14)") }
	wasLate := func(c *watchedCall) bool {
		return (c.hi == "" || c.completeAt.After(began)) && time.Since(c.begunAt) > callTime
	}
	return slices.ContainsFunc(w.draw.calls, wasLate) && !slices.ContainsFunc(r.Findings, isOther)
}

// diceDraft is what a seed draws of the public dice: how long after it is signed they have a round,
// and the share of requests that fail.
type diceDraft struct {
	lag   time.Duration
	fails float64
}

func drawDice(r *rand.Rand) diceDraft {
	d := diceDraft{lag: between(r, 0, 3*time.Second), fails: []float64{0, 0, 0.15, 0.5}[r.IntN(4)]}
	if sometimes(r, 0.4) {
		d.lag = between(r, 0, 10*time.Minute)
	}
	return d
}

// dice are the public dice of a simulation. That of what their relays say only the signature of the
// round is taken is tested in shared/beacon.
type dice struct {
	n     *network
	draft diceDraft
}

// Signature returns the signature of a round: any bytes, always the same ones.
func (d *dice) Signature(ctx context.Context, round uint64) ([]byte, error) {
	return harness.Intercept(ctx, harness.CallerOf(ctx), harness.Point{Op: "Signature"}, func() ([]byte, error) {
		lag := d.draft.lag
		switch {
		case d.n.faultsOff.Load():
			lag = 0
		case d.n.random() < d.draft.fails:
			return nil, harness.ErrDown
		}
		if time.Now().Before(beacon.Quicknet.TimeOf(round).Add(lag)) {
			return nil, errors.New("the round has not been signed")
		}
		signature := sha512.Sum512(binary.BigEndian.AppendUint64(nil, round))
		return signature[:beacon.SignatureSize], nil
	})
}
