package simulate

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"flashsale/shared/httpapi"
	"flashsale/shared/orderid"
)

// fate is what a buyer does about a claim's payment.
type fate struct {
	cancels bool
	// payments are those of the order, made at that time, counted from payBy.
	payments []payment
	pays     time.Duration
	// reports is how often the provider reports each of them.
	reports int
	// strayed is when a webhook that reports no payment comes, counted from payBy, and
	// which one.
	strayed time.Duration
	stray   int // -1 for none
}

// drawFate: a third of the buyers never pay, a tenth do in the last second, a tenth
// after it, and some cancel.
func drawFate(r *rand.Rand) fate {
	f := fate{reports: 1, strayed: between(r, -payWithin/2, grace), stray: -1}
	pays := func(wrong string) {
		p := payment{provider: stripe, amount: price, wrong: wrong}
		if sometimes(r, 0.5) {
			p.provider = standardWebhooks
		}
		switch {
		case wrong == "amount":
			p.amount = r.IntN(price)
		case wrong != "": // without one, of another sale, of an order that never was
			p.order = []string{"", "elsewhere", "never"}[r.IntN(3)]
		}
		f.payments = append(f.payments, p)
	}
	switch dice := r.Float64(); {
	case dice < 0.33:
	case dice < 0.40:
		f.cancels = true
	case dice < 0.50:
		f.pays = -between(r, 0, time.Second)
		pays("")
	case dice < 0.60:
		f.pays = between(r, 0, grace+3*time.Minute)
		pays("")
	default:
		f.pays = -between(r, time.Second, payWithin)
		pays("")
	}
	if f.payments != nil && sometimes(r, 0.3) {
		f.reports = 2
	}
	if f.payments != nil && sometimes(r, 0.1) {
		pays("")
	}
	f.cancels = f.cancels || f.payments != nil && sometimes(r, 0.05)
	for _, wrong := range []string{"amount", "unknown-order"} {
		if sometimes(r, 0.05) {
			pays(wrong)
		}
	}
	if sometimes(r, 0.2) {
		f.stray = r.IntN(14)
	}
	return f
}

// settles lets a buyer's claim meet its fate, as soon as it has its order id.
func (m *selling) settles(b buyer) {
	name := m.id + " " + b.user + " pays"
	m.n.wait(name, time.Microsecond)
	f := draw(m.n.schedule, drawFate)
	var orderID uint64
	for range 120 { // ten minutes
		m.n.wait(name, 5*time.Second)
		m.n.mu.Lock()
		if c := m.watch.claims[b.user]; c != nil {
			orderID, _ = strconv.ParseUint(c.orderID, 10, 64) // 0 while it is pending
		}
		m.n.mu.Unlock()
		if orderID != 0 {
			break
		}
	}
	if orderID == 0 {
		return // it has no claim, or its message takes longer
	}
	payBy := orderid.Time(orderID).Add(payWithin)
	var all sync.WaitGroup
	at := func(name string, when time.Duration, do func()) {
		all.Go(func() {
			m.n.wait(name, max(time.Microsecond, time.Until(payBy.Add(when))))
			do()
		})
	}
	if f.cancels {
		name := name + " cancels"
		at(name, min(f.pays, 0), func() { m.cancels(b.user, name) })
	}
	for n, p := range f.payments {
		p.reference, p.user = fmt.Sprint("pi_", m.id, "_", b.user, "_", n), b.user
		p.name(m.id, orderID)
		for i := range f.reports {
			name := fmt.Sprint(name, " ", n, " ", i)
			at(name, f.pays, func() { m.pays(p, name) })
		}
	}
	if f.stray >= 0 {
		name := name + " stray"
		at(name, f.strayed, func() { m.strays(b.user, orderID, f.stray, name) })
	}
	all.Wait()
}

// sends sends a webhook. An answer may be lost on its way to the provider.
func (m *simulation) sends(who string, request httpapi.Request) (r reply, reached int64, ok bool) {
	e := m.pools[paying].take(who)
	reached = e.reached.Load()
	r, took, ok := e.ask("", request)
	reached = e.reached.Load() - reached
	m.inTime(paying, took)
	if ok && !m.n.calm.Load() && m.n.random() < m.n.weather.sends/3 {
		m.n.mu.Lock()
		m.n.faults++
		m.n.mu.Unlock()
		ok = false
	}
	m.pools[paying].give(e)
	return r, reached, ok
}

// pays reports a payment until it is recorded (P24).
func (m *selling) pays(p payment, who string) {
	told, err := p.deliver(func(request httpapi.Request) (reply, bool) {
		r, _, ok := m.sends(who, request)
		m.write("%s reports %s: %t %d %s", who, p.id(), ok, r.status, r.body)
		return r, ok
	}, func(pause time.Duration) { m.n.wait(who, pause) })
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	if err != nil {
		m.watch.violate("%v", err)
		return
	}
	if before, known := m.paid[p]; known && before != told {
		m.watch.violate("P9: %s was said to be %+v and is said to be %+v", p.id(), before, told)
	}
	m.paid[p] = told
	if wrong := p.check(m.world.db, told, m.watch.claims[p.user].end); wrong != "" {
		m.watch.violate("%s", wrong)
	}
}

// strays sends a webhook that reports no payment of the user's order (P25).
func (m *selling) strays(user string, orderID uint64, which int, who string) {
	p := payment{provider: stripe, reference: "pi_" + m.id + "_" + user, amount: price}
	if which%2 == 0 {
		p.provider = standardWebhooks
	}
	p.name(m.id, orderID)
	all := p.strays()
	s := all[which/2%len(all)]
	r, reached, ok := m.sends(who, s.request)
	m.write("%s sends one (%s): %t %d %s", who, s.name, ok, r.status, r.body)
	if wrong := s.check(r, reached); ok && wrong != "" {
		m.violate("%s", wrong)
	}
}

func (m *selling) cancels(user, who string) {
	for range 50 {
		e := m.pools[paying].take(who)
		r, took, ok := e.cancel(m.id, user)
		m.inTime(paying, took)
		m.pools[paying].give(e)
		m.write("%s: %t %d %s", who, ok, r.status, r.body)
		if !ok || r.code == "busy" {
			m.n.wait(who, 2*time.Second)
			continue
		}
		m.n.mu.Lock()
		defer m.n.mu.Unlock()
		if wrong := checkCancelled(user, r, m.watch.claims[user].end); wrong != "" {
			m.watch.violate("%s", wrong)
		}
		return
	}
	m.violate("P5: %s gets no answer to a cancellation", user)
}

// releaseEveryMinute is the schedule of releasing. Passes may overlap.
func (m *simulation) releaseEveryMinute() {
	for minute := 0; ; minute++ {
		m.n.wait("release", time.Minute)
		select {
		case <-m.stop:
			return
		default:
		}
		go func() {
			who := fmt.Sprint("release ", minute)
			m.n.wait(who, time.Microsecond)
			m.releases(who)
		}()
	}
}

func (m *simulation) releases(who string) {
	e := m.pools[releasing].take(who)
	var out passes
	took, err := e.command("{}", &out)
	m.inTime(releasing, took)
	m.pools[releasing].give(e)
	m.write("%s: %+v %v", who, out, err)
	if out.fails(err) {
		m.violate("P22: a pass fails with %v", err)
	}
}

// becomeSettled waits until every claim is paid or released and every released unit is
// back (P22), and then reports every payment again.
func (m *selling) becomeSettled() {
	if m.draft.payWithin == 0 {
		return
	}
	for minute := 0; ; minute++ {
		b := readBooks(m.world.db, m.id)
		if b.sale.paused {
			break // a pause keeps claims from expiring
		}
		waiting := 0
		for _, c := range b.claims {
			if c.end() == "" {
				waiting++
			}
		}
		for _, s := range b.shards {
			waiting += int(s.released - s.putBack)
		}
		if waiting == 0 {
			break
		}
		if minute == 10 {
			m.violate("P22: after %d minutes %d claims or units are left to release or to put back", minute, waiting)
			break
		}
		m.n.wait("director", time.Minute)
	}
	b := readBooks(m.world.db, m.id)
	m.n.mu.Lock()
	all := slices.SortedFunc(maps.Keys(m.paid), func(a, b payment) int { return strings.Compare(a.id(), b.id()) })
	known := map[string]bool{}
	for _, p := range all {
		known[p.id()] = true
		if wrong := p.check(m.world.db, m.paid[p], b.claims[p.user].end()); wrong != "" {
			m.watch.violate("%s", wrong)
		}
	}
	for user, c := range b.claims {
		if c.payment != "" && !known[c.payment] {
			m.watch.violate("P25: the claim of %s is paid by %s, which nobody paid", user, c.payment)
		}
	}
	m.n.mu.Unlock()
	before := m.claimsAndRefunds()
	for _, p := range all {
		m.pays(p, m.id+" "+p.id()+" again")
	}
	if after := m.claimsAndRefunds(); after != before {
		m.violate("P9: reporting payments again changed the claims or the refunds from\n%s to\n%s", before, after)
	}
}

// claimsAndRefunds is all that a payment of this sale can change. Meanwhile the sales
// beside it go on.
func (m *selling) claimsAndRefunds() string {
	lines := strings.SplitAfter(m.world.db.Dump(), "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool {
		return !strings.Contains(l, `pk: "CLAIM#`+m.id+`#`) && !strings.Contains(l, `pk: "REFUND#`+m.id+`"`)
	}), "")
}
