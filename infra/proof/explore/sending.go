package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/infra/kit/bank"
	"flashsale/infra/kit/client/webhook"
	"flashsale/infra/proof/harness"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// sendsEvery is how many seeds with payments there are, on average, for one whose refunds are sent.
const sendsEvery = 5

// stopHeard is how long after a stop was answered the sending may still make a call that was begun before.
const stopHeard = 15 * time.Second

// sending is what operators, providers and RefundFunction do about refunds that are due.
type sending struct {
	*simulation
	bank   *bank.Bank
	paused atomic.Bool    // RefundFunction is not invoked
	late   sync.WaitGroup // calls and reports that are yet to come
	// Guarded by the network's lock:
	presses map[string]*press // by id
	payers  map[string]payer  // by the payment's id
	halted  time.Time         // until when the keys are wrong
}

// press is a sending, and what it has asked for.
type press struct {
	sale.Sending
	stopped time.Time // since when that is answered
	asked   map[string]bool
	sums    map[string]int64
}

type payer struct {
	sale    *runningSale
	payment harness.Payment
}

// addSending makes it a simulation whose refunds are sent.
func (m *simulation) addSending() {
	s := &sending{simulation: m, presses: map[string]*press{}, payers: map[string]payer{}}
	s.bank = &bank.Bank{Payments: map[string]*bank.Payment{}, Fault: s.fault, Asked: s.asked, Made: s.made, Violate: m.watch.violate}
	s.bank.Later = func(p *bank.Payment, after time.Duration, arrive func()) {
		s.after(after, "late call of "+p.ID, func(string) { s.locked(arrive) })
	}
	m.world.Bank, m.sending = s.bank, s
	for f, most := range map[harness.Function]int{harness.Refunding: 3, harness.Operating: 2} {
		m.pools[f] = &pool{n: m.n, function: f, most: most}
	}
}

// after does something later, which the end waits for.
func (s *sending) after(pause time.Duration, who string, do func(who string)) {
	s.late.Go(func() {
		s.n.wait(who, pause)
		do(who)
	})
}

func (s *sending) locked(do func()) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	do()
}

// within draws a pause.
func (s *sending) within(most time.Duration) time.Duration {
	return time.Duration(s.n.random() * float64(most))
}

func (s *sending) fault() bank.Fault {
	f := bank.Fault{Pending: s.n.random() < 0.4, After: s.within(sale.LeaseFor - time.Minute)}
	if s.n.faultsOff.Load() {
		return f
	}
	if kind := bank.Kind(s.n.random() * 20); kind <= bank.Halted {
		f.Kind = kind
	}
	switch {
	case f.Kind == bank.Halted:
		s.halted = time.Now().Add(f.After / 4)
	case time.Now().Before(s.halted):
		f.Kind = bank.Halted
	case f.Kind == bank.Busy:
		f.After /= 100
	}
	return f
}

// asked judges a call by what the table says of it: it is taken, and within the press that has taken it.
func (s *sending) asked(of *bank.Payment) {
	sent := s.sentOf(of.ID)
	p := s.presses[sent.By]
	if p == nil || sent.State != sale.SentUnknown {
		s.watch.violate("P42: %s is asked for, and the table says %+v", of.ID, sent)
		return
	}
	if !p.stopped.IsZero() && time.Since(p.stopped) > stopHeard {
		s.watch.violate("P42: %s is asked for %v after its sending was stopped", of.ID, time.Since(p.stopped))
	}
	if !p.asked[of.ID] && sent.Lease-sent.At == sale.LeaseFor.Milliseconds() { // or else it was taken before, perhaps by another press
		p.asked[of.ID] = true
		p.sums[of.Currency] += of.Amount
	}
	if int64(len(p.asked)) > p.Count || p.sums[of.Currency] > p.Sums[of.Currency] {
		s.watch.violate("P42: %v are asked for, %v, %+v, by a press for %d, %v", harness.Sorted(p.asked), p.sums, sent, p.Count, p.Sums)
	}
}

// sentOf is what the table says of what was sent.
func (s *sending) sentOf(payment string) harness.Sent {
	guard := s.world.DB.Item(harness.TableName, "PAYMENT#"+payment, "PAYMENT")
	return harness.SentOf(s.world.DB.Item(harness.TableName, "REFUND#"+harness.Text(guard["saleId"]), payment))
}

// made has a refund done, and perhaps fail. Both are reported in any order, and some twice.
func (s *sending) made(r *bank.Refund) {
	s.watch.counts["sent-back"]++
	of := s.payers[r.Payment.ID]
	report := harness.RefundReport{Payment: of.payment, ID: r.ID, State: "succeeded", Amount: int(r.Amount)}
	if !r.Payment.IsTold {
		of.sale.back[of.payment] = append(of.sale.back[of.payment], report)
		return
	}
	says := func() {
		report := report
		for again := 0; again == 0 || s.n.random() < 0.3; again++ {
			s.after(s.within(3*time.Minute), fmt.Sprint(r.ID, " ", report.State, " ", again), func(who string) { of.sale.reportRefund(report, who) })
		}
	}
	fails := !s.n.faultsOff.Load() && s.n.random() < 0.2
	s.after(s.within(3*time.Minute), r.ID, func(who string) {
		s.locked(func() { r.Done = true; says() })
		if fails {
			s.n.wait(who, s.within(3*time.Minute))
			report.State = "failed"
			s.locked(func() { r.Failed = true; says() })
		}
	})
}

// pay has the bank know payments, some of them of providers that only the bank plays, and disputes some.
func (s *sending) pay(m *runningSale, all []harness.Payment) {
	for i := range all {
		p := &all[i]
		if p.Provider == webhook.StandardWebhooks && s.n.random() < 0.8 {
			p.Provider = harness.Sendable[1+int(s.n.random()*3)]
		}
		s.locked(func() {
			s.bank.Pay(p.ID(), int64(p.Amount), "CNY")
			s.payers[p.ID()] = payer{m, *p}
		})
		if p.Provider != webhook.Stripe && s.n.random() < 0.15 {
			s.dispute(m, *p, []string{"won", "won", "lost", ""}[int(s.n.random()*4)])
		}
	}
}

// dispute disputes a payment, and decides that.
func (s *sending) dispute(m *runningSale, p harness.Payment, end string) {
	s.after(s.within(8*time.Minute), "dispute of "+p.ID(), func(who string) {
		isHeard := func(state string) bool {
			err := p.ReportDispute(state, func(request httpapi.Request) (harness.Reply, bool) { return m.sendWebhook(who, request) },
				func(pause time.Duration) { s.n.wait(who, pause) })
			if err != nil && !errors.Is(err, harness.ErrGivenUp) {
				s.violate("%v", err)
			}
			return err == nil
		}
		if isHeard("opened") {
			s.locked(func() { s.bank.Payments[p.ID()].Disputed = time.Now() })
		}
		s.n.wait(who, s.within(8*time.Minute))
		if end == "won" {
			s.locked(func() { s.bank.Payments[p.ID()].Disputed = time.Time{} })
		}
		_ = end == "" || isHeard(end)
	})
}

// give is a refund that a person makes at the provider, of which it makes one report. It reports whether there is one.
func (s *sending) give(r harness.RefundReport) (is bool) {
	s.locked(func() { is = s.bank.Payments[r.Payment.ID()].Give(r.ID, int64(r.Amount), r.State == "failed") })
	return is
}

// operate asks the ledger until that is answered.
func (s *sending) operate(who string, ask func(context.Context, *ledger.Ledger) error) error {
	for {
		e := s.pools[harness.Operating].take(who)
		err := e.Operate(ask)
		s.pools[harness.Operating].give(e)
		if !errors.Is(err, harness.ErrDied) && sale.CodeOf(err) != sale.Busy {
			s.write("%s: %v", who, err)
			return err
		}
		s.n.wait(who, 2*time.Second)
	}
}

// list is what an operator sees of refunds that are not done, and when that was so.
func (s *sending) list(who string) (due []sale.Refund, asOf time.Time) {
	err := s.operate(who, func(ctx context.Context, l *ledger.Ledger) error {
		due = nil
		for _, id := range append([]string{""}, harness.Sorted(s.watch.sales)...) {
			found, err := l.Refunds(ctx, id)
			if err != nil {
				return err
			}
			due = append(due, found...)
		}
		return nil
	})
	if err != nil {
		s.violate("%s gets no list: %v", who, err)
	}
	asOf = time.UnixMilli(time.Now().Add(s.within(2*s.n.skew) - s.n.skew).UnixMilli()).UTC()
	return slices.DeleteFunc(due, func(r sale.Refund) bool { return !r.RefundedAt.IsZero() || r.Amount == 0 }), asOf
}

// press presses for all that is due, or a part of it, perhaps twice.
func (s *sending) press(who string, all bool) {
	due, asOf := s.list(who)
	mine := sale.Sending{ID: sale.SendingID(asOf, "press"), AsOf: asOf}
	due = slices.DeleteFunc(due, func(r sale.Refund) bool { return r.Step(&mine, asOf) == sale.SendNothing })
	if len(due) == 0 {
		return
	}
	p, ids := sale.Sending{AsOf: asOf, Author: sale.Author{Actor: who}, Sums: map[string]int64{}}, []string{"press"}
	if !all && s.n.random() < 0.2 {
		one := due[int(s.n.random()*float64(len(due)))]
		p.Scope.Payments, due = []sale.SalePayment{{SaleID: one.SaleID, Payment: one.Payment}}, []sale.Refund{one}
	}
	if !all && s.n.random() < 0.2 { // the others are not in the list yet
		due = due[:(len(due)+1)/2]
	}
	for _, r := range due {
		p.Count++
		p.Sums[r.Currency] += r.Amount
	}
	if !all && s.n.random() < 0.3 {
		ids = append(ids, []string{"press", "another"}[int(s.n.random()*2)])
	}
	var both sync.WaitGroup
	for i, id := range ids {
		who, p := fmt.Sprint(who, " ", i), p
		p.ID = sale.SendingID(asOf, id)
		s.locked(func() {
			s.watch.counts["presses"]++
			if s.presses[p.ID] == nil {
				s.presses[p.ID] = &press{Sending: p, asked: map[string]bool{}, sums: map[string]int64{}}
			}
		})
		both.Go(func() {
			s.n.wait(who, time.Microsecond)
			err := p.Check(time.Now())
			if err == nil {
				err = s.operate(who, func(ctx context.Context, l *ledger.Ledger) error {
					_, _, err := l.BeginSending(ctx, p)
					return err
				})
			}
			if err != nil {
				s.violate("P42: %+v does not begin: %v", p, err)
			}
		})
	}
	both.Wait()
	s.n.wait(who, time.Microsecond)
}

// stop stops the newest sending.
func (s *sending) stop(who string) {
	ids := s.open()
	if len(ids) == 0 {
		return
	}
	id := ids[len(ids)-1]
	err := s.operate(who, func(ctx context.Context, l *ledger.Ledger) error {
		_, _, err := l.StopSending(ctx, id, who)
		return err
	})
	s.locked(func() {
		s.watch.counts["stops"]++
		if s.presses[id].stopped = time.Now(); err != nil {
			s.watch.violate("P42: %s cannot stop %s: %v", who, id, err)
		}
	})
}

// open are the sendings that go on.
func (s *sending) open() []string {
	return slices.DeleteFunc(harness.Sorted(s.presses), func(id string) bool {
		it := s.world.DB.Item(harness.TableName, "SENDS", id)
		return it == nil || it["stoppedAt"] != nil || it["endedAt"] != nil
	})
}

// mark pays a buyer another way, if the refund may be marked.
func (s *sending) mark(who string) {
	due, _ := s.list(who)
	if len(due) == 0 {
		return
	}
	if open := slices.DeleteFunc(slices.Clone(due), func(r sale.Refund) bool { return r.Sent.State == "" }); len(open) > 0 && s.n.random() < 0.7 {
		due = open
	}
	r := due[int(s.n.random()*float64(len(due)))]
	p := s.bank.Payments[r.Payment]
	byPerson := func(r *bank.Refund) bool { return r.Request == "" }
	if asked, _ := p.Back(); asked > 0 && r.Sent.State == sale.SentUnknown || slices.ContainsFunc(p.Refunds, byPerson) {
		return // a person looks at the provider
	}
	var marked ledger.Marking
	err := s.operate(who, func(ctx context.Context, l *ledger.Ledger) error {
		marked = l.MarkRefunds(ctx, r.SaleID, []string{r.Payment}, who)[0]
		return marked.Err
	})
	s.locked(func() {
		switch {
		case err == nil && marked.Refund.RefundedBy == who:
			s.watch.counts["marks"]++
			p.ByHand = p.Amount
			s.bank.Check(p)
		case sale.CodeOf(err) == sale.Conflicting:
			s.watch.counts["refused-marks"]++
		case err != nil:
			s.watch.violate("P42: %s cannot mark %s: %v", who, r.Payment, err)
		}
	})
}

// runOperators presses, stops and marks at random.
func (s *sending) runOperators() {
	s.n.wait("cashier", time.Microsecond)
	for i := range 3 + int(s.n.random()*5) {
		who := fmt.Sprint("cashier ", i)
		s.n.wait(who, s.within(4*time.Minute))
		if s.n.random() < 0.4 {
			s.mark(who)
			continue
		}
		if s.press(who, false); s.n.random() < 0.3 {
			s.n.wait(who, s.within(70*time.Second))
			s.stop(who)
		}
	}
}

// send invokes RefundFunction, sometimes twice at once.
func (s *sending) send(minute int) {
	if s.paused.Load() || len(s.open()) == 0 {
		return
	}
	for i := range 1 + int(s.n.random()*1.2) {
		go func() {
			who := fmt.Sprint("refund ", minute, " ", i)
			s.n.wait(who, time.Microsecond)
			s.runScheduled(harness.Refunding, who, "P42")
		}()
	}
}

// finish presses for all that is left when no fault is any more, and checks what became of it.
func (s *sending) finish() {
	if s.paused.Load() { // until Stripe has forgotten ids
		s.waits.Store(true)
		s.n.wait("director", 25*time.Hour)
		s.waits.Store(false)
		s.paused.Store(false)
	}
	for range 2 { // what was unknown until the first may have failed
		s.settle()
		s.n.wait("director", sale.LeaseFor) // no press takes what another one's call may still be about
		s.press("the last press", true)
		for minute := 0; len(s.open()) > 0; minute++ {
			if s.n.wait("director", time.Minute); minute == 200 {
				s.violate("P42: these do not end: %v", s.open())
				return
			}
		}
	}
	s.settle()
	for _, it := range s.world.DB.Items(harness.TableName) {
		payment := harness.Text(it["sk"])
		if !strings.HasPrefix(harness.Text(it["pk"]), "REFUND#") || it["refundedAt"] != nil || !slices.Contains(harness.Sendable, sale.ProviderOf(payment)) {
			continue
		}
		disputed, sent := harness.Text(it["disputed"]), harness.SentOf(it)
		isDue := it["back"] == nil && disputed != "open" && disputed != "lost" && harness.Text(it["amount"]) != "0"
		if isDue || sent.State == sale.SentUnknown && sale.ProviderOf(payment) != webhook.Adyen {
			s.violate("P42: of %s, which was due when it was pressed last, the table says %+v", payment, sent)
		}
	}
}

// settle waits until nothing is under way.
func (s *sending) settle() {
	s.late.Wait()
	s.n.wait("director", time.Millisecond)
}
