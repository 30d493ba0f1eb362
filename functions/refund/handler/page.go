package handler

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"flashsale/functions/refund/provider"
	"flashsale/shared/invocation"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// page is one page of a sending.
type page struct {
	*run
	s     sale.Sending // as it was read
	items []*item

	asking chan struct{} // has room for who reads the sending again: no call is made under the lock
	read   time.Time     // when the sending was read last
	over   bool          // it is stopped, or is another run's now

	mu     sync.Mutex
	halted map[string]sale.Halt
	failed error // the first failure
}

// item is a refund, as it is known by now.
type item struct {
	sale.Refund
	// passed: the sending need not look at it in this round. left: but in the next one.
	passed, left bool
	wasOurs      bool // when it was read
}

func (it *item) pass(left bool) { it.passed, it.left = true, left }

// isUnknown reports whether a provider, or a person, must say what became of it.
func (it *item) isUnknown() bool { return it.Sent.State == sale.SentUnknown }

// work does what there is to do with the refunds: atOnce of each provider.
func (p *page) work(ctx context.Context, refunds []sale.Refund) {
	queues := map[*desk][]*item{}
	allowed := p.s
	allowed.Amounts = maps.Clone(p.s.Amounts)
	for _, r := range refunds {
		it := &item{Refund: r, wasOurs: r.Sent.By == p.s.ID}
		if p.items = append(p.items, it); p.counts(it) {
			count(&allowed, it)
		}
	}
	for _, it := range p.items {
		step := it.Step(&p.s, p.now())
		if step == sale.SendNothing || step == sale.SendLater {
			it.pass(step == sale.SendLater)
			continue
		}
		d := p.desk(sale.ProviderOf(it.Payment))
		if err := p.wrong[d.name]; err != nil {
			p.halt(ctx, d, "wrong-key-settings", err.Error())
		} else if d.account == nil {
			p.halt(ctx, d, "no-key", "RefundKeysArn has no key of this provider")
		}
		isOurs := it.Sent.By == p.s.ID
		switch {
		case p.isHalted(d):
			it.pass(it.isUnknown())
		case !isOurs && !allowed.Allows(&it.Refund):
			it.pass(false)
		default:
			if queues[d] = append(queues[d], it); !isOurs {
				count(&allowed, it)
			}
		}
	}
	var all invocation.Group
	for d, queue := range queues {
		next := make(chan *item, len(queue))
		for _, it := range queue {
			next <- it
		}
		close(next)
		for range min(atOnce, len(queue)) {
			all.Go(func() {
				for len(next) > 0 {
					mayCall := d.wait(ctx) // for whichever is next, so that they are called in their order
					if it, found := <-next; found {
						p.fail(invocation.Try(func() error { return p.send(ctx, d, it, mayCall) }))
					}
				}
			})
		}
	}
	all.Wait()
}

// counts reports whether the sending has taken it in this round. Those that a run took which then died are found in the
// page again; in the second round they are not, but each of them is a repeat of what an earlier press has sent.
func (p *page) counts(it *item) bool {
	return it.Sent.By == p.s.ID && (p.s.Round == 0 || !it.wasOurs)
}

func count(s *sale.Sending, it *item) {
	if s.Taken++; s.Amounts == nil {
		s.Amounts = map[string]int64{}
	}
	s.Amounts[it.Currency] += it.Amount
}

// send takes a refund and asks its provider for it, or what became of it, and then for it.
func (p *page) send(ctx context.Context, d *desk, it *item, mayCall bool) error {
	for range 4 { // it may change meanwhile
		step := it.Step(&p.s, p.now())
		switch {
		case step == sale.SendNothing, step == sale.SendLater:
			it.pass(step == sale.SendLater)
			return nil
		case it.isUnknown() && it.Sent.Account != d.account.Account():
			p.halt(ctx, d, provider.OtherAccount, fmt.Sprintf(
				"the key is of %s, and a refund that may have been sent is of %s", d.account.Account(), it.Sent.Account))
			it.pass(true)
			return nil
		case !mayCall:
			if it.Sent.By == p.s.ID && invocation.Outlasts(ctx, restOfRun) {
				it.pass(true)
			}
			return nil
		case !p.goesOn(ctx):
			return nil
		case p.isHalted(d):
			it.pass(it.isUnknown())
			return nil
		}
		isDone, err := p.try(ctx, d, it, step == sale.SendAsk)
		if err != nil || isDone {
			return err
		}
		mayCall = d.wait(ctx)
	}
	return nil
}

// goesOn reports whether the sending goes on. A stop holds within fresh.
func (p *page) goesOn(ctx context.Context) bool {
	p.asking <- struct{}{}
	defer func() { <-p.asking }()
	if now := p.now(); !p.over && now.Sub(p.read) > fresh {
		s, err := p.ledger.Sending(ctx, p.s.ID)
		p.fail(err)
		p.over = err != nil || !s.IsOpen() || s.Round != p.s.Round || s.SaleID != p.s.SaleID || s.After != p.s.After
		p.read = now
	}
	return !p.over
}

// isHalted reports whether nothing may go to the provider. provider.OtherAccount is a halt of what may have been sent
// with another key alone.
func (p *page) isHalted(d *desk) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	why, isHalted := p.halted[d.name]
	return isHalted && why.Code != provider.OtherAccount
}

// try takes the refund, makes one call, and notes what it has shown. If isDone is false, the refund is looked at again.
func (p *page) try(ctx context.Context, d *desk, it *item, ask bool) (isDone bool, _ error) {
	isFirst, was := !it.isUnknown(), it.Sent
	taken, isTaken, err := p.ledger.TakeRefund(ctx, it.Refund, &p.s, d.account.Account())
	if err != nil {
		return false, err
	}
	if it.Refund = taken; !isTaken {
		return false, nil
	}
	turn, part := p.event.Part(ctx)
	a, panicked := p.call(turn, d, &taken, ask)
	rule, _ := sale.SendingRuleOf(taken.Payment)
	result, after := "unknown", taken.Sent.StillUnknown(a.Code, a.Words)
	switch a.Outcome {
	case provider.Accepted:
		result, after = "accepted", taken.Sent.Accepted(a.Refund)
	case provider.Refused:
		result, after = "refused", taken.Sent.Refused(rule, a.Code, a.Words)
	case provider.Absent:
		result, after = "absent", taken.Sent.Absent(rule)
	case provider.Busy, provider.Halted:
		if result = "busy"; isFirst && !a.IsRepeat { // or else an earlier call may have moved the money
			after = taken.Sent.Freed(a.Code, a.Words)
		}
	}
	noted, err := p.ledger.NoteSent(turn, taken, after, a.Money)
	if err == nil {
		it.Refund = noted
	}
	if d.hear(a, was.State == sale.SentRefused && was.Code == sale.SentText(a.Code)) {
		p.halt(ctx, d, a.Code, a.Words)
	}
	for _, member := range [][2]string{
		{"sending", p.s.ID}, {"saleId", taken.SaleID}, {"payment", taken.Payment},
		{"refund", a.Refund}, {"code", a.Code}, {"words", a.Words},
	} {
		if name, text := member[0], sale.SentText(member[1]); text != "" {
			part.Text(name, text)
		}
	}
	part.CountBy("refunds", "result", result)
	p.mu.Lock()
	p.results[result]++
	p.mu.Unlock()
	err = cmp.Or(err, panicked)
	part.End("request", sale.CodeOf(err), err)
	isDone = a.Outcome != provider.Absent || it.Step(&p.s, p.now()) != sale.SendAgain
	it.pass(!isDone || it.isUnknown() || a.Outcome == provider.Busy)
	return isDone, err
}

// call asks the provider, until noteTime before the end. Whatever cannot be its answer is unknown.
func (p *page) call(ctx context.Context, d *desk, r *sale.Refund, ask bool) (a provider.Answer, panicked error) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-noteTime))
		defer cancel()
	}
	_, reference, _ := strings.Cut(r.Payment, "#")
	request := provider.Request{ID: r.Sent.ID, Reference: reference, Amount: r.Amount, Currency: r.Currency}
	panicked = invocation.Try(func() error {
		if ask {
			a = d.account.Ask(ctx, request)
		} else if a = d.account.Send(ctx, request); a.Outcome == provider.Absent {
			a = provider.Answer{Code: "absent"}
		}
		return nil
	})
	if panicked != nil {
		a = provider.Answer{Code: "panic"}
	}
	return a, panicked
}

// halt sends nothing more to a provider in this sending.
func (p *page) halt(ctx context.Context, d *desk, code, words string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	const other = provider.OtherAccount
	if was, isHalted := p.halted[d.name]; isHalted && (was.Code != other || code == other) {
		return
	}
	if p.halted == nil {
		p.halted = map[string]sale.Halt{}
	}
	halt := sale.Halt{Code: sale.SentText(code), Words: sale.SentText(words), At: p.now()}
	p.halted[d.name] = halt
	_, part := p.event.Part(ctx)
	part.Text("sending", p.s.ID)
	part.Text("provider", d.name)
	part.Text("code", halt.Code)
	part.Text("words", halt.Words)
	part.Metric("refundsHalted", telemetry.Count, 1)
	part.End("refunds halted", "", nil)
}

func (p *page) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = cmp.Or(p.failed, err)
}

// progress returns the sending as it is after the page, and whether the whole page was passed. Payments that are named
// one by one are read as a whole each time.
func (p *page) progress() (next sale.Sending, isWhole bool) {
	next = p.s
	next.Amounts, next.Halted = maps.Clone(p.s.Amounts), p.halted
	n := slices.IndexFunc(p.items, func(it *item) bool { return !it.passed })
	isWhole = n < 0
	passed := p.items
	if !isWhole {
		if passed = p.items[:n]; len(p.s.Scope.Payments) > 0 {
			passed = nil
		}
		if n = len(passed); n > 0 {
			next.SaleID, next.After = passed[n-1].SaleID, passed[n-1].Payment
		}
	}
	for _, it := range passed {
		if p.counts(it) {
			count(&next, it)
		}
		if it.left {
			next.Left++
		}
	}
	return next, isWhole
}
