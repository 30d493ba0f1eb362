package simulate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"flashsale/shared/invocation"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// fate is what a buyer does about a claim's payment.
type fate struct {
	cancels bool
	// pays is when, counted from payBy; never if it is not set.
	isPaid bool
	pays   time.Duration
	// reports is how often the provider reports the payment; others is how many more
	// payments there are of the order.
	reports, others int
}

// drawFate: a third of the buyers never pay, a tenth do in the last second, a tenth
// after it, and some cancel.
func drawFate(r *rand.Rand) fate {
	f := fate{reports: 1}
	switch dice := r.Float64(); {
	case dice < 0.33:
	case dice < 0.40:
		f.cancels = true
	case dice < 0.50:
		f.isPaid, f.pays = true, -between(r, 0, time.Second)
	case dice < 0.60:
		f.isPaid, f.pays = true, between(r, 0, grace+3*time.Minute)
	default:
		f.isPaid, f.pays = true, -between(r, time.Second, payWithin)
	}
	if f.isPaid && sometimes(r, 0.3) {
		f.reports = 2
	}
	if f.isPaid && sometimes(r, 0.1) {
		f.others = 1
	}
	f.cancels = f.cancels || f.isPaid && sometimes(r, 0.05)
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
	if f.cancels {
		all.Go(func() {
			m.n.wait(name+" cancels", max(time.Microsecond, time.Until(payBy.Add(min(f.pays, 0)))))
			m.cancels(b.user, name+" cancels")
		})
	}
	for n := range 1 + f.others {
		for i := range f.reports {
			if !f.isPaid {
				break
			}
			name := fmt.Sprint(name, " ", n, " ", i)
			all.Go(func() {
				m.n.wait(name, max(time.Microsecond, time.Until(payBy.Add(f.pays))))
				m.pays(sale.Payment{
					Provider: "stripe", Reference: fmt.Sprint("pi_", b.user, "_", n), SaleID: m.id, OrderID: orderID, Amount: 100, Currency: "CNY",
				}, name)
			})
		}
	}
	all.Wait()
}

// calls makes one invocation that calls the ledger of a paying environment. ok is false
// if that died.
func (m *simulation) calls(who string, call func(context.Context, *ledger.Ledger) error) (ok bool, err error) {
	e := m.pools[paying].take(who)
	end := e.invoke(func(ctx context.Context) {
		ctx, cancel := invocation.Bound(ctx)
		defer cancel()
		err = call(ctx, e.book)
	})
	m.inTime(paying, end.took)
	m.pools[paying].give(e)
	return !end.died, err
}

// pays reports a payment until it is recorded (P24).
func (m *selling) pays(p sale.Payment, who string) {
	for range 200 {
		var done ledger.Settlement
		ok, err := m.calls(who, func(ctx context.Context, book *ledger.Ledger) (err error) {
			done, err = book.Pay(ctx, p)
			return err
		})
		m.write("%s reports %s: %t %v, refund %+v", who, p.Reference, ok, err, done.Refund)
		if ok && err == nil {
			m.n.mu.Lock()
			defer m.n.mu.Unlock()
			if refunded, known := m.paid[p]; known && refunded != (done.Refund != nil) {
				m.watch.violate("P24: %s is its order's and a refund due", p.Reference)
			}
			m.paid[p] = done.Refund != nil
			return
		}
		if ok && sale.CodeOf(err) != sale.Busy {
			m.violate("P24: %s is answered %v", p.Reference, err)
			return
		}
		m.n.wait(who, 5*time.Second)
	}
	m.violate("P24: %s is never recorded", p.Reference)
}

func (m *selling) cancels(user, who string) {
	for range 50 {
		ok, err := m.calls(who, func(ctx context.Context, book *ledger.Ledger) error {
			_, err := book.Cancel(ctx, m.id, user)
			return err
		})
		m.write("%s: %t %v", who, ok, err)
		switch code := sale.CodeOf(err); {
		case !ok || code == sale.Busy:
			m.n.wait(who, 2*time.Second)
			continue
		case err != nil && code != sale.OrderPaid && code != sale.OrderExpired:
			m.violate("P20: %s cancels and is told %v", user, err)
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
			if c.payment == "" && !c.released {
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
	paid := map[string]bool{}
	for _, c := range b.claims {
		if c.payment != "" {
			paid[c.payment] = true
		}
	}
	m.n.mu.Lock()
	var all []sale.Payment
	for p, refunded := range m.paid {
		all = append(all, p)
		if isRefund := m.world.db.Item(tableName, "REFUND#"+m.id, p.ID()) != nil; isRefund != refunded || paid[p.ID()] == refunded {
			m.watch.violate("P24: %s was said to be a refund: %t; it is one: %t, an order's: %t", p.Reference, refunded, isRefund, paid[p.ID()])
		}
	}
	m.n.mu.Unlock()
	slices.SortFunc(all, func(a, b sale.Payment) int { return strings.Compare(a.Reference, b.Reference) })
	before := m.dump()
	for _, p := range all {
		m.pays(p, m.id+" "+p.Reference+" again")
	}
	if after := m.dump(); after != before {
		m.violate("P9: reporting payments again changed the table from\n%s to\n%s", before, after)
	}
}
