package books

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// sendingTime is how the key of a sending begins, its asOf.
	sendingTime = "2006-01-02T15:04:05.000Z"
	// maxLookedAt is how old the list is that somebody has looked at.
	maxLookedAt = time.Hour
	// leaseFor is how long only one call may send a refund.
	leaseFor = 10 * time.Minute
	// maxSendingPayments is how many payments a sending may name, and maxSaid how long a provider's words are kept.
	maxSendingPayments, maxSaid = 100, 200
)

// sentSaid is what a refund says of its being sent.
type sentSaid struct {
	State   string `json:"state"`
	ID      string `json:"id"`
	Tries   int64  `json:"tries"`
	At      int64  `json:"at"`
	Lease   int64  `json:"lease"`
	By      string `json:"by"`
	Account string `json:"account"`
	Refund  string `json:"refund"`
	Code    string `json:"code"`
	Words   string `json:"words"`
}

var isSendID = regexp.MustCompile("^[0-9a-f]{32}$").MatchString

// checkSent is how it is described.
func (r *refundItem) checkSent(f *fields) {
	if !f.has("sent") {
		return
	}
	f.as("sent", &r.sent)
	s, provider := r.sent, strings.Split(r.Payment, "#")[0]
	isUnknown, isAccepted := s.State == "unknown", s.State == "accepted"
	isOut := isUnknown || isAccepted
	f.failIf(!slices.Contains([]string{"stripe", "wechat-pay", "alipay", "adyen"}, provider) || r.Amount == 0 || r.Currency == "XXX", "sent is of a payment that cannot be sent")
	f.failIf(!isOut && s.State != "refused" && s.State != "", "sent has no such state")
	f.failIf(isOut && (!isSendID(s.ID) || s.At < r.At-skew.Milliseconds()), "sent has no id, or an instant before at")
	f.failIf(!isOut && (s.ID != "" || s.At != 0 || s.Account != ""), "sent has the id of a request that has an answer")
	f.failIf(s.Lease != 0 && (!isUnknown || s.Lease < s.At), "sent has a lease that nobody needs")
	f.failIf(s.Refund != "" != isAccepted && (s.Refund != "" || provider != "alipay"), "sent is accepted without a refund, or has one without")
	f.failIf(s.State != "" && s.By == "" || s.By != "" && !isSendingKey(s.By), "sent is by no sending")
	f.failIf(s.Tries < 0 || !isText(s.Code, maxSaid) || !isText(s.Words, maxSaid) || isAccepted && s.Code+s.Words != "", "sent has other words, or tries below 0")
}

func isSendingKey(text string) bool {
	kind, _ := locate(key{"SENDS", text})
	return kind == "sending"
}

// sendingItem is SENDS, <time>#<id>: what an operator has asked to give back.
type sendingItem struct {
	Time, ID                     string
	AsOf, At, StoppedAt, EndedAt int64
	Count                        int64

	sums     map[string]int64
	scope    scopeSaid
	progress progressSaid
}

type scopeSaid struct {
	SaleID   string      `json:"saleId"`
	Group    string      `json:"group"`
	Sales    []string    `json:"sales"`
	Payments []refundRef `json:"payments"`
}

// refundRef is which refund it is.
type refundRef struct {
	SaleID  string `json:"saleId"`
	Payment string `json:"payment"`
}

type progressSaid struct {
	Round   int64            `json:"round"`
	SaleID  string           `json:"saleId"`
	After   string           `json:"after"`
	Taken   int64            `json:"taken"`
	Amounts map[string]int64 `json:"amounts"`
	Left    int64            `json:"left"`
	NextAt  time.Time        `json:"nextAt"`
	Halted  map[string]struct {
		Code  string    `json:"code"`
		Words string    `json:"words"`
		At    time.Time `json:"at"`
	} `json:"halted"`
}

// has reports whether a refund is of the scope.
func (s *scopeSaid) has(r refundRef) bool {
	switch {
	case s.SaleID != "":
		return r.SaleID == s.SaleID
	case s.Group != "":
		return slices.Contains(s.Sales, r.SaleID)
	}
	return len(s.Payments) == 0 || slices.Contains(s.Payments, r)
}

var readSending = reader("sending", func(f *fields, s *sendingItem) {
	f.as("sums", &s.sums)
	f.as("scope", &s.scope)
	f.as("progress", &s.progress)
	looked := time.Duration(s.At-s.AsOf) * time.Millisecond
	f.failIf(s.Time != time.UnixMilli(s.AsOf).UTC().Format(sendingTime), "its key is not of its asOf")
	f.failIf(looked < -2*skew || looked > maxLookedAt+skew, "asOf is not of the hour before at")
	f.with("stoppedAt", "stoppedBy")
	f.failIf(f.has("stoppedAt") && f.has("endedAt"), "it was stopped, and has ended")
	f.failIf(f.has("stoppedAt") && s.StoppedAt < s.At-skew.Milliseconds() || f.has("endedAt") && s.EndedAt < s.At-skew.Milliseconds(), "it ended before at")
	kinds := 0
	for _, is := range []bool{s.scope.SaleID != "", s.scope.Group != "", len(s.scope.Payments) > 0} {
		if is {
			kinds++
		}
	}
	f.failIf(kinds > 1 || s.scope.Group == "" && len(s.scope.Sales) > 0 || len(s.scope.Payments) > maxSendingPayments, "scope is several")
	f.failIf(len(s.sums) == 0, "sums are none")
	for _, sum := range s.sums {
		f.failIf(sum < 1, "sums have one of nothing")
	}
	f.failIf(s.progress.Taken < 0 || s.progress.Taken > s.Count, "it has taken more than its count")
	for currency, amount := range s.progress.Amounts {
		f.failIf(amount < 0 || amount > s.sums[currency], "it has taken more than its sums")
	}
})

// sentBy is what a sending has sent last, of the refunds that were read.
type sentBy struct {
	refunds []refundRef
	sums    map[string]int64
}

// takeSent notes by what a refund was sent.
func (p *pass) takeSent(r *refundItem) {
	if r.sent.By == "" {
		return
	}
	if p.sent == nil {
		p.sent = map[string]*sentBy{}
	}
	by := p.sent[r.sent.By]
	if by == nil {
		by = &sentBy{sums: map[string]int64{}}
		p.sent[r.sent.By] = by
	}
	by.refunds = append(by.refunds, refundRef{r.Sale, r.Payment})
	by.sums[r.Currency] += r.Amount
}

// readSendings compares the sendings with what they have sent (P42). They are read after the refunds: each was there
// before its first.
func (p *pass) readSendings(ctx context.Context) error {
	known := map[string]bool{}
	err := p.partition(ctx, "SENDS", 0, func(items []item) error {
		for _, it := range items {
			id := keyOf(it).sk
			s, problem := readSending(it)
			known[id] = true
			if p.malformed(it, problem); problem != "" {
				continue
			}
			latest := max(s.At, s.StoppedAt, s.EndedAt)
			p.findIf(latest > p.Now().Add(skew).UnixMilli(), "P42", "sending "+id+" at", "the sending %s began or ended at %s, which is in the future", id, clock(latest))
			if by := p.sent[id]; by != nil {
				p.judgeSending(id, &s, by)
			}
		}
		return nil
	})
	for id, by := range p.sent {
		p.findIf(err == nil && !known[id], "P42", "sending "+id, "%s was sent by %s, which is no sending: nobody has asked for that", by.refunds[0].Payment, id)
	}
	return err
}

func (p *pass) judgeSending(id string, s *sendingItem, by *sentBy) {
	n := int64(len(by.refunds))
	p.findIf(n > s.Count, "P42", "sending "+id+" count", "the sending %s was to send %d refunds, and has sent %d at least", id, s.Count, n)
	for currency, sum := range by.sums {
		p.findIf(sum > s.sums[currency], "P42", "sending "+id+" "+currency, "the sending %s was to send %d %s, and has sent %d at least", id, s.sums[currency], currency, sum)
	}
	i := slices.IndexFunc(by.refunds, func(r refundRef) bool { return !s.scope.has(r) })
	if i >= 0 {
		p.find("P42", "sending "+id+" scope", "the sending %s has sent the refund REFUND#%s, %s, which it is not about", id, by.refunds[i].SaleID, by.refunds[i].Payment)
	}
}
