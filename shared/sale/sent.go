package sale

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// Sent is what is known of a refund due that RefundFunction has asked its provider for.
type Sent struct {
	State SentState
	// ID is the request's idempotency id at the provider, of 32 hexadecimal digits. A request whose fate is unknown is
	// repeated under the id it had.
	ID string
	// Tries counts the ids that are used up, besides one for each refund that has failed: see SendingRule.
	Tries int64
	// At is when the id was first sent.
	At time.Time
	// Lease is until when nobody else may send it: it outlasts the call, also one that ended without an answer.
	Lease time.Time
	// By is the id of the Sending that has sent it last.
	By string
	// Account is whose money it is at the provider; an id means something there only.
	Account string
	// Refund is the provider's id of the refund, once it has accepted one.
	Refund string
	// Code and Words are the provider's, of a refusal or of the last call that did not end well.
	Code, Words string
}

// SentState is what became of the last request.
type SentState string

const (
	// SentUnknown: it may have moved the money. Only an answer ends that, or a report that the money is back.
	SentUnknown SentState = "unknown"
	// SentAccepted: the provider sends the money. Only a report ends that.
	SentAccepted SentState = "accepted"
	// SentRefused: no money has moved. It is due, and the next Sending asks again.
	SentRefused SentState = "refused"
)

const (
	// LeaseFor is longer than a run of RefundFunction and a call within it.
	LeaseFor = 10 * time.Minute
	// MaxSentText is the longest code or text of a provider that is kept, in characters.
	MaxSentText = 200
)

// SendingRule is how a provider treats the id of a request to refund.
type SendingRule struct {
	// Life is how long the provider knows an id at least, less a margin; 0 is for ever.
	Life time.Duration
	// CanAsk: the provider can be asked what became of a request.
	CanAsk bool
	// AfterRefusal, AfterFailure: a refusal, or the failure of a refund, uses the id up. IfAbsent: so does the
	// provider's word, when it is asked, that there is no such refund.
	AfterRefusal, AfterFailure, IfAbsent bool
}

// sendingRules are those of the providers that can be asked to refund:
//
//   - Stripe keeps an Idempotency-Key for 24 hours at least, with refusals and errors
//     (docs.stripe.com/api/idempotent_requests);
//   - WeChat Pay's out_refund_no is for ever, and only one that is CLOSED is refunded under another
//     (pay.weixin.qq.com/doc/v3/merchant/4013071031, 4013071200);
//   - Alipay's out_request_no is for ever (opendocs.alipay.com/open/4b7cc5db_alipay.trade.refund);
//   - Adyen keeps an idempotency-key for 31 days at least, of each region for itself
//     (docs.adyen.com/development-resources/api-idempotency), and tells nothing of a modification that is asked for.
var sendingRules = map[string]SendingRule{
	"stripe":     {Life: 23 * time.Hour, CanAsk: true, AfterRefusal: true, AfterFailure: true, IfAbsent: true},
	"wechat-pay": {CanAsk: true, AfterFailure: true},
	"alipay":     {CanAsk: true},
	"adyen":      {Life: 30 * day, AfterRefusal: true, AfterFailure: true},
}

// ProviderOf returns the provider in a payment's id.
func ProviderOf(payment string) string {
	provider, _, _ := strings.Cut(payment, "#")
	return provider
}

// SendingRuleOf returns the rule of a payment's provider; false if that cannot be asked to refund.
func SendingRuleOf(payment string) (SendingRule, bool) {
	rule, known := sendingRules[ProviderOf(payment)]
	return rule, known
}

// DueSince is since when the refund is due: since it was recorded, or since its mark was taken away.
func (r *Refund) DueSince() time.Time {
	if r.Again.After(r.At) {
		return r.Again
	}
	return r.At
}

// SendStep is what a Sending does next with a refund.
type SendStep int

const (
	SendNothing SendStep = iota
	// SendLater: another call has it, or may have it.
	SendLater
	// SendNew: it is sent, if the Sending's count and sums allow it.
	SendNew
	// SendAgain: the same Sending has taken it before, and it is sent, too.
	SendAgain
	// SendAsk: the provider is asked what became of it. It must not simply be sent: its id's life is over, or it may
	// not go any more.
	SendAsk
)

// Step returns what a Sending does with the refund. It never sends what is back, even in part, disputed, or accepted.
func (r *Refund) Step(s *Sending, now time.Time) SendStep {
	rule, known := SendingRuleOf(r.Payment)
	mayGo := r.IsDue() && r.Back == 0 && !r.Stuck
	isOurs := r.Sent.By == s.ID
	switch {
	case !known, r.Amount == 0, r.Currency == "XXX", !r.RefundedAt.IsZero(), r.Sent.State == SentAccepted:
		return SendNothing
	case r.Sent.State == SentUnknown:
		switch isOld := rule.Life > 0 && now.Sub(r.Sent.At) >= rule.Life; {
		// The second round is also for those that were an earlier press's, under way. A later press's are its own, so
		// that a stop of it holds.
		case !isOurs && (s.Round > 1 || r.Sent.By > s.ID):
			return SendNothing
		case now.Before(r.Sent.Lease):
			return SendLater
		case rule.CanAsk && (isOld || !mayGo):
			return SendAsk
		case isOld || !mayGo: // a person looks at the provider
			return SendNothing
		}
	case !mayGo, r.DueSince().After(s.AsOf), isOurs && r.Sent.State == SentRefused, !isOurs && s.Round > 0:
		return SendNothing
	}
	if isOurs {
		return SendAgain
	}
	return SendNew
}

// TakenBy returns what is known of the refund once a Sending has taken it at that account: the request is unknown,
// under the id that it had, or else under the next one.
func (r *Refund) TakenBy(s *Sending, account string, now time.Time) Sent {
	sent := r.Sent
	if sent.State != SentUnknown {
		rule, _ := SendingRuleOf(r.Payment)
		n := sent.Tries
		if rule.AfterFailure {
			n += r.Failures
		}
		sum := sha256.Sum256([]byte("flashsale refund\n" + r.Payment + "\n" + strconv.FormatInt(n, 10)))
		sent = Sent{State: SentUnknown, ID: hex.EncodeToString(sum[:16]), Tries: sent.Tries, At: now, Account: account}
	}
	sent.By, sent.Lease = s.ID, now.Add(LeaseFor)
	return sent
}

// Freed returns what is known after a request of which it is certain that it moved nothing, and that it used no id up:
// as before it, but for the words, and for its Sending, which may send it again.
func (t Sent) Freed(code, words string) Sent {
	return Sent{Tries: t.Tries, By: t.By, Code: SentText(code), Words: SentText(words)}
}

// Refused returns what is known after a refusal.
func (t Sent) Refused(rule SendingRule, code, words string) Sent {
	after := t.Freed(code, words)
	if after.State = SentRefused; rule.AfterRefusal {
		after.Tries++
	}
	return after
}

// Absent returns what is known once the provider has said that there is no such refund.
func (t Sent) Absent(rule SendingRule) Sent {
	after := t.Freed("", "")
	if rule.IfAbsent {
		after.Tries++
	}
	return after
}

// Accepted returns what is known once the provider has accepted the refund under that id of its own.
func (t Sent) Accepted(refund string) Sent {
	t.State, t.Refund, t.Lease, t.Code, t.Words = SentAccepted, refund, time.Time{}, "", ""
	return t
}

// StillUnknown returns what is known after a call without an answer. Its lease stays: the request may still be under
// way.
func (t Sent) StillUnknown(code, words string) Sent {
	t.Code, t.Words = SentText(code), SentText(words)
	return t
}

// After returns what is known once the account was applied: the failure of the refund that was accepted makes it due.
func (t Sent) After(a Account) Sent {
	if t.State == SentAccepted && t.Refund != "" && a.Refunds[t.Refund].State == RefundFailed {
		t = t.Freed(RefundHasFailed, "")
		t.State = SentRefused
	}
	return t
}

// RefundHasFailed is the code of a refund that was accepted and has failed.
const RefundHasFailed = "refund-failed"

// NotSent returns what is known once a person has seen at the provider that nothing was sent: the next press sends it
// under another id.
func (t Sent) NotSent() Sent { return Sent{Tries: t.Tries + 1} }

// CanMark reports whether a person may say what became of the refund: not while an answer or a report will. At a
// provider that cannot be asked, a person looks there, once no call is under way.
func (r *Refund) CanMark(now time.Time) bool {
	rule, _ := SendingRuleOf(r.Payment)
	switch r.Sent.State {
	case SentAccepted:
		return false
	case SentUnknown:
		return !rule.CanAsk && !now.Before(r.Sent.Lease)
	}
	return true
}

// SentText returns a provider's text as it is kept: printable, and at most MaxSentText characters.
func SentText(text string) string {
	kept := []rune{}
	for _, c := range text {
		if len(kept) < MaxSentText && printable(c) {
			kept = append(kept, c)
		}
	}
	return string(kept)
}
