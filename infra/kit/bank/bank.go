// Package bank is what payment providers do when they are asked to give payments back: they know requests by their ids,
// each in its way, and give back at most what was paid. It judges what it is asked for (P42), also beyond that limit.
package bank

import (
	"fmt"
	"strings"
	"time"

	"flashsale/functions/refund/provider"
	"flashsale/shared/sale"
)

// Bank has one merchant's accounts. It is not safe for concurrent use.
type Bank struct {
	Payments map[string]*Payment // by their ids
	Fault    func() Fault        // of the next call
	// Later runs the call of a payment that arrives so much later.
	Later   func(p *Payment, after time.Duration, arrive func())
	Asked   func(*Payment) // gets each call that is to make a refund
	Made    func(*Refund)  // gets each refund that such a call has made
	Violate func(format string, args ...any)
	made    int
}

// Fault is what happens to a call, and Kind what kind of that it is.
type (
	Fault struct {
		Kind    Kind
		After   time.Duration // how much later it arrives, or how long the provider wants to hear nothing
		Pending bool          // a refund that it makes is not done yet
	}
	Kind int
)

const (
	None    Kind = iota
	Unheard      // it never arrives
	Lost         // its answer is lost
	Late         // it arrives when its caller has given up
	Refused      // the balance is too low
	Busy
	Halted // the key is wrong
)

// disputeHeard is how long after the report of a dispute was answered a call may still be made that was begun before.
const disputeHeard = 15 * time.Second

// rules are how the providers treat the ids of requests. A life of 0 is for ever.
var rules = map[string]struct {
	life          time.Duration
	keepsRefusals bool
	closes        bool // the id of a refund that has failed is used up
	silent        bool // it does not say what became of a request
	totals        bool // it tells all that is back, in answers alone, and no refund fails
}{
	"stripe":     {life: 24 * time.Hour, keepsRefusals: true},
	"wechat-pay": {closes: true},
	"alipay":     {totals: true},
	"adyen":      {life: 31 * 24 * time.Hour, keepsRefusals: true, silent: true},
}

// Payment is one that was paid to the merchant.
type Payment struct {
	ID, Currency string
	Amount       int64
	IsTold       bool      // of its refunds there are webhooks
	ByHand       int64     // what a person has paid back another way
	Disputed     time.Time // since when the function knows that; zero if it is not
	Refunds      []*Refund
	known        map[string]known // by the request's id
}

// Refund is one of a payment.
type Refund struct {
	ID           string
	Payment      *Payment
	Amount       int64
	Done, Failed bool
	Request      string // its id; "": a person has made it at the provider
}

// known is the answer to a request, and the refund that it has made, if any.
type known struct {
	answer provider.Answer
	refund *Refund
	at     time.Time
}

// Pay adds a payment.
func (b *Bank) Pay(id string, amount int64, currency string) {
	told := !rules[sale.ProviderOf(id)].totals
	b.Payments[id] = &Payment{ID: id, Amount: amount, Currency: currency, IsTold: told, known: map[string]known{}}
}

// Back is how much is back, or on its way: asked for by the function, and given by a person.
func (p *Payment) Back() (asked, given int64) {
	for _, r := range p.Refunds {
		switch {
		case r.Failed:
		case r.Request != "":
			asked += r.Amount
		default:
			given += r.Amount
		}
	}
	return asked, given
}

// Give is a refund that a person makes at the provider, or its failure. It reports whether there is such a refund then.
func (p *Payment) Give(refund string, amount int64, fails bool) bool {
	for _, r := range p.Refunds {
		if r.ID == refund {
			r.Failed = r.Failed || fails
			return true
		}
	}
	asked, given := p.Back()
	if p.ByHand > 0 || fails && !p.IsTold || !fails && asked+given+amount > p.Amount {
		return false
	}
	p.Refunds = append(p.Refunds, &Refund{ID: refund, Payment: p, Amount: amount, Done: true, Failed: fails})
	return true
}

// Check judges what the buyer has.
func (b *Bank) Check(p *Payment) {
	if asked, given := p.Back(); asked > 0 && asked+given+p.ByHand > p.Amount {
		b.Violate("P42: of %s, %d, the buyer gets %d that were asked for, %d and %d by hand", p.ID, p.Amount, asked, given, p.ByHand)
	}
}

// Send judges a request, and places it, perhaps.
func (b *Bank) Send(name string, r provider.Request) provider.Answer {
	p := b.Payments[name+"#"+r.Reference]
	if r.Amount != p.Amount || r.Currency != p.Currency {
		b.Violate("P42: of %s, %d %s, it is asked for %d %s", p.ID, p.Amount, p.Currency, r.Amount, r.Currency)
	}
	if !p.Disputed.IsZero() && time.Since(p.Disputed) > disputeHeard {
		b.Violate("P42: %s is asked for, and known to be disputed for %v", p.ID, time.Since(p.Disputed))
	}
	b.Asked(p)
	f := b.Fault()
	switch f.Kind {
	case Late:
		b.Later(p, f.After, func() { b.place(p, r.ID, f) })
	case Lost:
		b.place(p, r.ID, f)
	case Busy:
		return provider.Answer{Outcome: provider.Busy, Code: "429", Wait: f.After}
	case Halted:
		return provider.Answer{Outcome: provider.Halted, Code: "401"}
	case None, Refused:
		return b.place(p, r.ID, f)
	}
	return provider.Answer{Code: "cut"}
}

// place answers a request that has arrived.
func (b *Bank) place(p *Payment, id string, f Fault) provider.Answer {
	rule := rules[sale.ProviderOf(p.ID)]
	before, isKnown := p.known[id]
	if isKnown && (rule.life == 0 || time.Since(before.at) < rule.life) {
		if rule.closes && before.refund.Failed {
			return provider.Answer{Outcome: provider.Refused, Code: "CLOSED", Money: p.says()}
		}
		return before.answer
	}
	now := known{at: time.Now(), answer: provider.Answer{Outcome: provider.Refused, Code: "balance"}}
	switch asked, given := p.Back(); {
	case asked > 0:
		b.Violate("P42: %s is asked for under another id, %s, while its refund stands", p.ID, id)
	case given > 0:
		now.answer.Code, now.answer.Money = "already", p.says()
	case f.Kind != Refused:
		b.made++
		now.refund = &Refund{ID: fmt.Sprint("re_sent_", b.made), Payment: p, Amount: p.Amount, Done: !f.Pending || rule.totals, Request: id}
		p.Refunds = append(p.Refunds, now.refund)
		now.answer = provider.Answer{Outcome: provider.Accepted, Refund: now.refund.ID, Money: p.says()}
		b.Check(p)
		b.Made(now.refund)
	}
	if now.refund != nil || rule.keepsRefusals {
		p.known[id] = now
	}
	return now.answer
}

// says is what the provider says of the payment's refunds.
func (p *Payment) says() (all []sale.MoneyReport) {
	name, reference, _ := strings.Cut(p.ID, "#")
	one := sale.MoneyReport{Provider: name, Reference: reference, Currency: p.Currency}
	if asked, given := p.Back(); !p.IsTold {
		one.Total = &sale.TotalReport{Amount: asked + given, Grows: true}
		return append(all, one)
	}
	for _, r := range p.Refunds {
		if one.Refund = (&sale.RefundReport{ID: r.ID, State: sale.RefundDone, Amount: r.Amount}); r.Failed {
			one.Refund.State = sale.RefundFailed
		}
		if r.Done || r.Failed {
			all = append(all, one)
		}
	}
	return all
}

// Ask finds the refund of a request.
func (b *Bank) Ask(name string, r provider.Request) provider.Answer {
	p := b.Payments[name+"#"+r.Reference]
	if rules[name].silent {
		b.Violate("%s is asked what became of a request", name)
	}
	if f := b.Fault(); f.Kind != None && f.Kind != Refused {
		return provider.Answer{Code: "cut"}
	}
	answer := provider.Answer{Outcome: provider.Absent, Money: p.says()}
	for _, one := range p.Refunds {
		if one.Request != r.ID {
			continue
		}
		if answer.Outcome, answer.Refund = provider.Accepted, one.ID; one.Failed {
			answer.Outcome = provider.Refused
		}
	}
	return answer
}
