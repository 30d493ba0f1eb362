package books

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// accountItem is MONEY#<provider>#<reference>, MONEY: what a provider has said of the money of a payment.
type accountItem struct {
	Payment   string
	V         int64
	SaleID    string // "" if the order or the payment is unknown
	OrderID   int64  // 0 if the payment named none, or is unknown
	ExpiresAt int64  // in seconds; 0 if the payment is known

	refunds  map[string]refundSaid
	disputes map[string]disputeSaid
	total    totalSaid
}

type refundSaid struct {
	State    string           `json:"state"`
	Amount   int64            `json:"amount"`
	Currency string           `json:"currency"`
	Whole    bool             `json:"whole"`
	At       int64            `json:"at"`
	Heard    map[string]int64 `json:"heard"`
}

type disputeSaid struct {
	State string           `json:"state"`
	Rank  int64            `json:"rank"`
	Heard map[string]int64 `json:"heard"`
}

type totalSaid struct {
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	Grows    bool   `json:"grows"`
	At       int64  `json:"at"`
	Heard    int64  `json:"heard"`
}

// returned is what a claim or a refund says of an account. Money is the account's v, 0 for none.
type returned struct {
	Money, Back, Failures int64
	Stuck                 bool
	Disputed              string
	RefundedAt            int64
}

// check is how it is described of both.
func (r *returned) check(f *fields) {
	f.with("money", "back", "failures", "stuck", "disputed")
}

func accountKey(payment string) key { return key{"MONEY#" + payment, "MONEY"} }

var readAccount = reader("account", func(f *fields, a *accountItem) {
	f.as("refunds", &a.refunds)
	f.as("disputes", &a.disputes)
	f.as("total", &a.total)
	for _, r := range a.refunds {
		_, isHeard := r.Heard[r.State]
		f.failIf(!isHeard || !slices.Contains([]string{"stuck", "done", "failed"}, r.State), "refunds have one of no state that was heard")
	}
	for _, d := range a.disputes {
		_, isHeard := d.Heard[d.State]
		f.failIf(!isHeard || !slices.Contains(fromTheWorst, d.State), "disputes have one of no state that was heard")
	}
	f.failIf(a.ExpiresAt != 0 && (a.SaleID != "" || a.OrderID != 0), "expiresAt is there, and the payment is known")
})

var fromTheWorst = []string{"lost", "open", "won", "asked"}

// as reads an attribute that is JSON.
func (f *fields) as(name string, to any) {
	if text, _ := formOf("json")(f.item[name]); text != nil {
		d := json.NewDecoder(bytes.NewBufferString(text.(string)))
		d.DisallowUnknownFields()
		f.failIf(d.Decode(to) != nil, name+" is not as documented")
	}
}

// says is what a claim or a refund of so much says that knows this account.
func (a *accountItem) says(paid int64, currency string) (says returned, whole bool) {
	says.Money = a.V
	var done, failedSince int64
	oneIsDone := false
	for _, r := range a.refunds {
		amount, isOfIt := r.Amount, r.Currency == currency
		if r.Whole {
			amount, isOfIt = paid, true
		}
		switch {
		case r.State == "stuck":
			says.Stuck = true
		case r.State == "failed":
			if says.Failures++; isOfIt && r.At >= a.total.At {
				failedSince += amount
			}
		case isOfIt:
			oneIsDone, done = true, done+amount
		}
	}
	if a.total.Currency == currency {
		total := a.total.Amount
		if !a.total.Grows {
			total -= failedSince
		}
		done = max(done, total)
	}
	says.Back = min(done, paid)
	for _, d := range a.disputes {
		if i := slices.Index(fromTheWorst, d.State); says.Disputed == "" || i < slices.Index(fromTheWorst, says.Disputed) {
			says.Disputed = d.State
		}
	}
	return says, says.Back == paid && (oneIsDone || says.Back > 0)
}

// checkMoney compares what a claim or a refund says of its payment's money with the payment's account. isLast: nothing
// else says more.
func (p *pass) checkMoney(payment string, paid int64, currency string, says returned, isLast bool, it item) {
	about := "money " + payment
	if it == nil {
		p.find("P41", about, "version %d of the account of %s is applied, but there is no account", says.Money, payment)
		return
	}
	a, problem := readAccount(it)
	if p.malformed(it, problem); problem != "" {
		return
	}
	p.findIf(a.V < says.Money, "P41", about, "version %d of the account of %s is applied, but that has version %d", says.Money, payment, a.V)
	p.unfinishIf(a.V > says.Money && isLast, "version %d of the account of %s is applied, but not yet %d: its provider reports it again", says.Money, payment, a.V)
	if a.V != says.Money {
		return
	}
	want, whole := a.says(paid, currency)
	want.RefundedAt = says.RefundedAt
	p.findIf(says != want, "P41", about, "of %d %s of %s it is said: %+v, but its account says: %+v", paid, currency, payment, says, want)
	p.findIf(whole && says.RefundedAt == 0, "P41", about, "%s is back as a whole, says its account, but nobody is told", payment)
}

// checkAccounts compares the accounts of a page with the guards of their payments.
func (p *pass) checkAccounts(ctx context.Context, accounts []accountItem) error {
	return lookUp(ctx, p, accounts, func(a accountItem) key { return guardKey(a.Payment) }, func(a accountItem, it item) {
		g, _ := readGuard(it)
		about := "account " + a.Payment
		switch {
		case a.ExpiresAt != 0:
			p.unfinishIf(it != nil, "what was said of the money of %s is not applied yet: its provider reports it again", a.Payment)
		case it == nil:
			p.find("P41", about, "the account of %s says that the payment is known, but it has no guard", a.Payment)
		default:
			p.findIf(g.SaleID != a.SaleID || g.OrderID != a.OrderID, "P41", about, "the account of %s is of order %d of sale %q, but its guard is of order %d of sale %q",
				a.Payment, a.OrderID, a.SaleID, g.OrderID, g.SaleID)
		}
	})
}

// events are what was heard of the money of a known payment, and of its total the last.
func (a *accountItem) events() (all []event) {
	if a.ExpiresAt != 0 {
		return nil
	}
	add := func(kind, about string, at int64, more map[string]any) {
		members := map[string]any{"payment": a.Payment, "orderId": ""}
		if a.OrderID != 0 {
			members["orderId"] = strconv.FormatInt(a.OrderID, 10)
		}
		maps.Copy(members, more)
		all = append(all, newEvent(kind, a.Payment+":"+about, a.SaleID, "", at, members))
	}
	sum := func(amount int64, currency, refund string) map[string]any {
		members := map[string]any{"refundId": refund}
		if currency != "" {
			members["amount"], members["currency"] = amount, currency
		}
		return members
	}
	for id, r := range a.refunds {
		if r.Whole {
			r.Currency = ""
		}
		for state, kind := range map[string]string{"done": "RefundDone", "failed": "RefundFailed"} {
			if at, isHeard := r.Heard[state]; isHeard {
				add(kind, id, at, sum(r.Amount, r.Currency, id))
			}
		}
	}
	if t := a.total; t.Amount > 0 {
		add("RefundDone", "total-"+strconv.FormatInt(t.Amount, 10), t.Heard, sum(t.Amount, t.Currency, ""))
	}
	for id, d := range a.disputes {
		for state, at := range d.Heard {
			add("PaymentDisputed", id+":"+state, at, map[string]any{"disputeId": id, "dispute": state})
		}
	}
	return all
}
