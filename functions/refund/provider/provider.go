// Package provider asks payment providers to give payments back: requests, signatures and what answers mean. It decides
// nothing of when, and keeps nothing.
package provider

import (
	"context"
	"fmt"
	"strings"
	"time"

	"flashsale/shared/sale"
)

// Provider is one account of a payment provider. It is safe for concurrent use.
type Provider interface {
	// Account names the account, without a secret: an id of a request means something only there.
	Account() string
	// Send asks for the refund. The id makes a repeat the same request.
	Send(context.Context, Request) Answer
	// Ask says what has become of a request, without making one. It is called only where sale.SendingRule.CanAsk.
	Ask(context.Context, Request) Answer
}

// Request is a refund of a whole payment.
type Request struct {
	ID        string // the idempotency id, of 32 hexadecimal digits
	Reference string // the provider's id of the payment
	Amount    int64  // all that was paid, in ISO 4217's minor units
	Currency  string
}

// Answer is what a call has shown.
type Answer struct {
	Outcome Outcome
	// Refund is the provider's id of the refund that was accepted; "" if it has none, as at Alipay.
	Refund string
	// Money is what the answer says of money, like webhooks do, also of other refunds of the payment.
	Money []sale.MoneyReport
	// Code and Words are the provider's, of an outcome that is none of Accepted and Absent.
	Code, Words string
	// IsRepeat: Busy or Halted is not the answer to the first request of the call, which may have moved the money.
	IsRepeat bool
	// Wait is how long the provider wants to hear nothing, after Busy.
	Wait time.Duration
}

// answer is one without money.
func answer(o Outcome, code, words string) Answer {
	return Answer{Outcome: o, Code: code, Words: words}
}

// unlike is the answer to what does not look like the provider's of this request, whatever it says.
func unlike(what string) Answer {
	return answer(Unknown, "not-its-answer", "the answer is not the provider's to this request: "+what)
}

// otherCurrency is the answer for a sum that the provider cannot have.
func (r *Request) otherCurrency() Answer {
	words := fmt.Sprintf("it was not asked: %d minor units of %s cannot be a refund there", r.Amount, r.Currency)
	return answer(Refused, "currency", words)
}

// reported returns what PayFunction's webhooks would say of the payment; nothing if they would not be taken.
func (r *Request) reported(provider string, m sale.MoneyReport, now time.Time) []sale.MoneyReport {
	m.Provider, m.Reference, m.MayBeOurs = provider, r.Reference, true
	if m.Check(now) != nil {
		return nil
	}
	return []sale.MoneyReport{m}
}

// unlessMade asks after a refusal that may be of a repeat although the refund was made, and returns the refusal if
// there is none, with what was said of the payment's other refunds. What names a refund is certain.
func unlessMade(ctx context.Context, p Provider, r Request, a Answer) Answer {
	if a.Outcome != Refused || a.Refund != "" {
		return a
	}
	asked := p.Ask(ctx, r)
	if asked.Outcome != Absent {
		asked.IsRepeat = true
		return asked
	}
	a.Money = asked.Money
	return a
}

// ofQuestion is the answer to a question. A refusal of it says nothing of the refund, unless the code is of absence.
func (a Answer) ofQuestion(absent string) Answer {
	switch {
	case a.Outcome != Refused || a.Refund != "":
		return a
	case a.Code == absent:
		return answer(Absent, "", "")
	}
	a.Outcome = Unknown
	return a
}

// isText reports whether it may be a provider's id.
func isText(id string) bool {
	return id != "" && sale.SentText(id) == id && strings.TrimSpace(id) == id
}

// OtherAccount is the code of a key whose account does not have the payment: what was asked for at another account
// stays unknown, and others may go.
const OtherAccount = "other-account"

// Outcome is what a call means for the money.
type Outcome int

const (
	// Unknown: it may have moved the money, or still may. Whatever is not certain is unknown.
	Unknown Outcome = iota
	// Accepted: the provider sends, or has sent, the whole.
	Accepted
	// Refused: this request moved no money, and will not.
	Refused
	// Busy: the provider did not look at the request, and will take it later.
	Busy
	// Halted: it did not look at it, and will look at none: the key is wrong, or may not refund.
	Halted
	// Absent, of Ask alone: there is no such refund.
	Absent
)
