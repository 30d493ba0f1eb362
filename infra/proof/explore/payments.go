package explore

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client/webhook"
	"flashsale/infra/proof/harness"
	"flashsale/shared/httpapi"
	"flashsale/shared/orderid"
)

// paymentPlan is what a buyer does about a claim's payment.
type paymentPlan struct {
	cancels bool
	// payments are those of the order. They are made at paysAt, counted from payBy.
	payments []harness.Payment
	paysAt   time.Duration
	// reports is how often the provider reports each of them.
	reports int
	// back has what it says of refunds of them, and how long after paysAt, if not before.
	back []backPlan
}

// backPlan is one report of a refund of a payment.
type backPlan struct {
	of, refund int
	state      string
	amount     int
	after      time.Duration
}

// drawPaymentPlan: a third of the buyers never pay, a tenth do in the last second, a tenth
// after it, and some cancel.
func drawPaymentPlan(r *rand.Rand) paymentPlan {
	f := paymentPlan{reports: 1}
	reported := func(wrong string) harness.Payment {
		p := harness.Payment{Provider: webhook.Stripe, Amount: harness.Price, Wrong: wrong}
		if sometimes(r, 0.5) {
			p.Provider = webhook.StandardWebhooks
		}
		switch {
		case wrong == "amount":
			p.Amount = r.IntN(harness.Price)
		case wrong != "": // without one, of another sale, of an order that never was
			p.Order = []string{"", "elsewhere", "never"}[r.IntN(3)]
		}
		return p
	}
	pays := func(wrong string) { f.payments = append(f.payments, reported(wrong)) }
	switch dice := r.Float64(); {
	case dice < 0.33:
	case dice < 0.40:
		f.cancels = true
	case dice < 0.50:
		f.paysAt = -between(r, 0, time.Second)
		pays("")
	case dice < 0.60:
		f.paysAt = between(r, 0, harness.Grace+3*time.Minute)
		pays("")
	default:
		f.paysAt = -between(r, time.Second, harness.PayWithin)
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
	for of, p := range f.payments {
		if p.Amount >= 2 && sometimes(r, 0.2) {
			f.back = append(f.back, drawBack(r, of, p.Amount)...)
		}
	}
	return f
}

// drawBack draws what a provider says of refunds of a payment: of the whole, of two parts, or of some that fail
// and are made again. The reports come in any order, some twice, and before that of the payment.
func drawBack(r *rand.Rand, of, amount int) (all []backPlan) {
	says := func(refund int, state string, amount int) {
		for again := true; again; again = sometimes(r, 0.3) {
			all = append(all, backPlan{of, refund, state, amount, between(r, -time.Minute, 4*time.Minute)})
		}
	}
	fails := func(refund, amount int) {
		says(refund, "succeeded", amount)
		says(refund, "failed", amount)
	}
	switch r.IntN(4) {
	case 0:
		says(0, "succeeded", amount)
	case 1:
		says(0, "succeeded", 1)
		says(1, "succeeded", amount-1)
	case 2:
		fails(0, amount)
	default:
		fails(0, amount)
		says(1, "succeeded", amount)
	}
	return all
}

// payOrCancel carries out a buyer's payment plan, as soon as the claim has its order id.
func (m *runningSale) payOrCancel(b buyer) {
	name := m.id + " " + b.user + " pays"
	m.n.wait(name, time.Microsecond)
	f := draw(m.n.schedule, drawPaymentPlan)
	var orderID uint64
	units := int64(1)
	for range 120 { // ten minutes
		m.n.wait(name, 5*time.Second)
		m.n.mu.Lock()
		if c := m.watch.claims[b.user]; c != nil {
			orderID, _ = strconv.ParseUint(c.orderID, 10, 64) // 0 while it is pending
			units = c.units
		}
		m.n.mu.Unlock()
		if orderID != 0 {
			break
		}
	}
	if orderID == 0 {
		return // it has no claim, or its message takes longer
	}
	f.payFor(int(units))
	payBy := orderid.Time(orderID).Add(harness.PayWithin)
	if m.draft.late && f.paysAt > 0 {
		f.paysAt *= 10
	}
	for n := range f.payments {
		p := &f.payments[n]
		p.Reference, p.User = fmt.Sprint("pi_", m.id, "_", b.user, "_", n), b.user
		p.NameOrder(m.id, orderID)
	}
	if m.sending != nil {
		m.sending.pay(m, f.payments)
	}
	var all sync.WaitGroup
	at := func(name string, when time.Duration, do func()) {
		all.Go(func() {
			m.n.wait(name, max(time.Microsecond, time.Until(payBy.Add(when))))
			do()
		})
	}
	if f.cancels {
		name := name + " cancels"
		at(name, min(f.paysAt, 0), func() { m.cancel(b.user, name) })
	}
	for n, p := range f.payments {
		for i := range f.reports {
			name := fmt.Sprint(name, " ", n, " ", i)
			at(name, f.paysAt, func() { m.reportPayment(p, name) })
		}
	}
	for i, one := range f.back {
		r := harness.RefundReport{
			Payment: f.payments[one.of], ID: fmt.Sprint("re_", f.payments[one.of].Reference, "_", one.refund), State: one.state, Amount: one.amount,
		}
		name := fmt.Sprint(name, " back ", i)
		at(name, f.paysAt+one.after, func() {
			if m.sending == nil || m.sending.give(r) {
				m.reportRefund(r, name)
			}
		})
	}
	all.Wait()
}

// payFor makes it a plan of so many units: what pays the price of one pays that of all.
func (f *paymentPlan) payFor(units int) {
	rest := (units - 1) * harness.Price
	for i, one := range f.back {
		if f.payments[one.of].Amount == harness.Price && one.amount > 1 { // in parts, the second has the rest
			f.back[i].amount += rest
		}
	}
	for i := range f.payments {
		if f.payments[i].Amount == harness.Price {
			f.payments[i].Amount += rest
		}
	}
}

// reportRefund reports a refund until that is recorded (P41).
func (m *runningSale) reportRefund(one harness.RefundReport, who string) {
	m.n.mu.Lock()
	m.back[one.Payment] = append(m.back[one.Payment], one)
	m.n.mu.Unlock()
	err := one.Deliver(func(request httpapi.Request) (harness.Reply, bool) {
		r, ok := m.sendWebhook(who, request)
		m.write("%s reports %s %s: %t %d %s", who, one.ID, one.State, ok, r.Status, r.Body)
		return r, ok
	}, func(pause time.Duration) { m.n.wait(who, pause) })
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	if errors.Is(err, harness.ErrGivenUp) && !m.n.faultsOff.Load() {
		m.refundsGivenUp = append(m.refundsGivenUp, one)
		return
	}
	if err != nil {
		m.watch.violate("%v", err)
		return
	}
	m.backAt[one] = time.Now()
	m.watch.counts["money"]++
}

// sendWebhook sends a webhook. An answer may be lost on its way to the provider.
func (m *simulation) sendWebhook(who string, request httpapi.Request) (r harness.Reply, ok bool) {
	e := m.pools[harness.Paying].take(who)
	r, ok = e.Ask("", request)
	if ok && !m.n.faultsOff.Load() && m.n.random() < m.n.rates.sends/3 {
		m.n.mu.Lock()
		m.watch.counts["faults"]++
		m.n.mu.Unlock()
		ok = false
	}
	m.pools[harness.Paying].give(e)
	return r, ok
}

// reportPayment reports a payment until it is recorded (P24).
func (m *runningSale) reportPayment(p harness.Payment, who string) {
	var began time.Time
	told, err := p.Deliver(func(request httpapi.Request) (harness.Reply, bool) {
		began = time.Now()
		r, ok := m.sendWebhook(who, request)
		m.write("%s reports %s: %t %d %s", who, p.ID(), ok, r.Status, r.Body)
		return r, ok
	}, func(pause time.Duration) { m.n.wait(who, pause) })
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	if errors.Is(err, harness.ErrGivenUp) && !m.n.faultsOff.Load() {
		m.givenUp = append(m.givenUp, p)
		return
	}
	if err != nil {
		m.watch.violate("%v", err)
		return
	}
	recalled := harness.PaymentAnswer{Outcome: "refund-due", Reason: "recalled"}
	cancelled := harness.PaymentAnswer{Outcome: "refund-due", Reason: "cancelled"}
	knows := m.cancelKnown[p.User]
	switch before, known := m.paid[p]; {
	case !known || before == told || before.Outcome == "paid" && (told == recalled || told == cancelled):
	case before == recalled && told.Outcome == "paid" && (m.recallKnown.IsZero() || began.Before(m.recallKnown)),
		before == cancelled && told.Outcome == "paid" && (knows.IsZero() || began.Before(knows)):
		told = before // of two reports at once, one did not know of the recall (P35) or the cancellation yet
	default:
		m.watch.violate("P9: %s was said to be %+v and is said to be %+v", p.ID(), before, told)
	}
	if c := m.watch.claims[p.User]; c != nil && told.Outcome == "paid" && c.end == p.ID() && !knows.IsZero() && !began.Before(knows) {
		m.watch.violate("P37: %s was said to have paid, and its order was cancelled before", p.ID())
	}
	m.paid[p] = told
	if wrong := p.Check(m.world.DB, told, m.watch.claims[p.User].end); wrong != "" {
		m.watch.violate("%s", wrong)
	}
}

func (m *runningSale) cancel(user, who string) {
	for range 50 {
		e := m.pools[harness.Paying].take(who)
		r, ok := e.As(user, m.id, "DELETE /sales/{saleId}/orders/me")
		m.pools[harness.Paying].give(e)
		m.write("%s: %t %d %s", who, ok, r.Status, r.Body)
		if !ok || r.Code == "busy" {
			m.n.wait(who, 2*time.Second)
			continue
		}
		m.n.mu.Lock()
		defer m.n.mu.Unlock()
		claim := m.watch.claims[user]
		end := claim.end
		if claim.unit != "" {
			end = "operator"
		}
		if wrong := harness.CheckCancelled(user, r, end); wrong != "" && (end == claim.end || harness.CheckCancelled(user, r, claim.end) != "") {
			m.watch.violate("%s", wrong)
		}
		return
	}
	m.violate("P5: %s gets no answer to a cancellation", user)
}

func (m *simulation) release(who string) {
	m.n.wait(who, time.Microsecond)
	m.runScheduled(harness.Releasing, who, "P22")
}

// finishPayments has the providers report what they gave up while faults lasted, and waits until every
// claim is paid or released and every released unit is back (P22).
func (m *runningSale) finishPayments() {
	if m.draft.payWithin == 0 {
		return
	}
	for _, p := range m.givenUp {
		m.reportPayment(p, m.id+" "+p.ID()+" after all")
	}
	for _, r := range m.refundsGivenUp {
		m.reportRefund(r, m.id+" "+r.ID+" after all")
	}
	m.n.wait("director", time.Until(m.watch.payUntil))
	isOpen := func(c books.Claim) bool { return c.End() == "" }
	if b := harness.ReadBooks(m.world.DB, m.id); m.draft.late && slices.ContainsFunc(b.Claims, isOpen) {
		m.waits.Store(true)
		m.n.wait("director", lateFor+harness.PayWithin+harness.Grace)
		m.waits.Store(false)
	}
	m.await(10, "P22: every claim is paid or released, and every released unit is back", func(b *harness.Books) bool {
		return b.Paused || b.Waiting() == 0 && !slices.ContainsFunc(b.Claims, isOpen) // a pause keeps claims from expiring
	})
	b := harness.ReadBooks(m.world.DB, m.id)
	m.n.mu.Lock()
	all := m.recordedPayments()
	known := map[string]bool{}
	for _, p := range all {
		known[p.ID()] = true
		if wrong := p.Check(m.world.DB, m.paid[p], b.Claim(p.User).End()); wrong != "" {
			m.watch.violate("%s", wrong)
		}
	}
	for _, c := range b.Claims {
		if paid := c.Payment; paid != "" && !known[paid] {
			m.watch.violate("P25: the claim of %s is paid by %s, which nobody paid", c.User, paid)
		}
	}
	m.n.mu.Unlock()
}

// checkMoney compares what is said of the money of payments with what their providers have reported, unless the last of
// it was answered after until, if that is not zero.
func (m *runningSale) checkMoney(until time.Time) {
	b := harness.ReadBooks(m.world.DB, m.id)
	for p, said := range m.back {
		isLate := func(r harness.RefundReport) bool { return m.backAt[r].After(until) }
		if m.sending != nil && m.sending.bank.Payments[p.ID()].ByHand > 0 || !until.IsZero() && slices.ContainsFunc(said, isLate) {
			continue
		}
		if wrong := p.CheckMoney(m.world.DB, said, b.Claim(p.User)); wrong != "" {
			m.watch.violate("%s", wrong)
		}
	}
}

// recordedPayments are the payments of the providers' lists.
func (m *runningSale) recordedPayments() []harness.Payment {
	return slices.SortedFunc(maps.Keys(m.paid), func(a, b harness.Payment) int {
		return cmp.Or(strings.Compare(a.ID(), b.ID()), strings.Compare(a.Sale, b.Sale), strings.Compare(a.Order, b.Order), a.Amount-b.Amount)
	})
}
